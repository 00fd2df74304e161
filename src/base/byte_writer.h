// Appends little-endian bytes to a buffer: the other side of ByteReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace zs {

class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void write(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    bytes(std::as_bytes(std::span(&value, 1)));
  }

  void bytes(std::span<const std::byte> data) {
    if (data.empty()) return;
    const std::size_t end = out_.size();
    out_.resize(end + data.size());
    std::memcpy(out_.data() + end, data.data(), data.size());
  }

  /// A 32-bit length, then the characters.
  void string(std::string_view text) {
    write(static_cast<std::uint32_t>(text.size()));
    bytes(std::as_bytes(std::span(text.data(), text.size())));
  }

  std::size_t size() const { return out_.size(); }

  /// Overwrites what was written at `position`, for a length that is known only afterwards.
  template <typename T>
  void patch(std::size_t position, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(out_.data() + position, &value, sizeof(T));
  }

 private:
  std::vector<std::byte>& out_;
};

}  // namespace zs
