// The bytes that a fuzzer gives, taken one value after the other. What is beyond their end is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zs::testing {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  template <typename T>
  T take() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  void take(void* into, std::size_t bytes) {
    const std::size_t n = std::min(bytes, size_);
    std::memcpy(into, data_, n);
    data_ += n;
    size_ -= n;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace zs::testing
