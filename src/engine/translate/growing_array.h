// An array that reserves address space for its usual size and grows into it, so that growing copies nothing. Its
// pages come some at a time, before they are touched (populate.h); what lies beyond the first two mebibytes comes in
// large pages, where the kernel has some. What it holds can be put into its place from outside: read there, or mapped
// over it (place()).
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "engine/memory/layout.h"
#include "engine/memory/populate.h"

namespace zs::engine {

template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t at) { return data_[at]; }
  const T& operator[](std::size_t at) const { return data_[at]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  T& emplace_back() {
    if (size_ == ready_) make_ready(size_ + 1);
    return *new (&data_[size_++]) T{};
  }
  void push_back(const T& value) {
    if (size_ == ready_) make_ready(size_ + 1);
    data_[size_++] = value;
  }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) move_to(capacity);
  }
  void assign(std::size_t size, const T& value) {
    reserve(size);
    if (size > ready_) make_ready(size);
    std::fill_n(data_, size, value);
    size_ = size;
  }
  void resize(std::size_t size) {
    if (size > ready_) make_ready(size);
    for (std::size_t i = size_; i < size; ++i) new (&data_[i]) T{};
    size_ = size;
  }
  void clear() { size_ = 0; }
  void swap(GrowingArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(ready_, other.ready_);
    std::swap(capacity_, other.capacity_);
  }

  /// Room for `size` elements, which the array holds from now on and the caller fills. returns where they lie: at the
  /// start of a page, and the whole of the page in which they end is the array's
  T* place(std::size_t size) {
    if (size >= capacity_) reserve(2 * size + 1);
    size_ = size;
    ready_ = std::max(ready_, std::min(capacity_, bytes(size) / sizeof(T)));
    return data_;
  }

 private:
  static std::size_t bytes(std::size_t capacity) { return page_up(capacity * sizeof(T)); }

  /// Of pages that come at once: half as many as there are, within these.
  static constexpr std::size_t kFewestBytes = std::size_t{16} << 10, kMostBytes = std::size_t{512} << 10;

  /// Room for `size` elements, more than are ready, and pages for some more.
  void make_ready(std::size_t size) {
    if (size > capacity_) move_to(std::max(size, 2 * capacity_));
    const std::size_t from = page_up(ready_ * sizeof(T)), step = std::clamp(from / 2, kFewestBytes, kMostBytes);
    const std::size_t to = std::min(bytes(capacity_), page_up(std::max(size * sizeof(T), from + step)));
    const auto begin = reinterpret_cast<std::uint64_t>(data_);
    if (to > from) populate({begin + from, begin + to}, Populate::ForWriting);
    ready_ = std::min(capacity_, to / sizeof(T));
  }

  void move_to(std::size_t capacity) {
    void* const at =
        mmap(nullptr, bytes(capacity), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    const auto begin = reinterpret_cast<std::uint64_t>(at), end = begin + bytes(capacity);
    const std::uint64_t large = (begin + 2 * kHugePageSize - 1) & ~(kHugePageSize - 1);
    if (large < end) madvise(reinterpret_cast<void*>(large), end - large, MADV_HUGEPAGE);
    if (size_ != 0) {
      populate({begin, begin + size_ * sizeof(T)}, Populate::ForWriting);
      std::memcpy(at, data_, size_ * sizeof(T));
    }
    release();
    data_ = static_cast<T*>(at);
    ready_ = std::min(capacity, bytes(size_) / sizeof(T));
    capacity_ = capacity;
  }
  void release() {
    if (data_ != nullptr) munmap(data_, bytes(capacity_));
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, ready_ = 0, capacity_ = 0;  // ready: elements whose pages are there
};

}  // namespace zs::engine
