// An array whose parts are asked for in no order: aligned to lines of the host, and if it is large, in large pages
// where the host has some, as else nearly every access would wait for its page tables too.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "base/units.h"

namespace zs::uarch {

template <typename T>
class HostArray {
 public:
  HostArray(std::size_t size, const T& value) : size_(size), values_(allocate(size * sizeof(T))) {
    std::uninitialized_fill_n(data(), size, value);
  }

  T* data() const { return static_cast<T*>(values_.get()); }
  T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }

 private:
  static constexpr std::size_t kLine = 64, kLargePage = 2_MiB;
  static_assert(std::is_trivially_destructible_v<T>);

  static void* allocate(std::size_t bytes) {
    const std::size_t unit = bytes >= kLargePage / 2 ? kLargePage : kLine;
    void* const values = std::aligned_alloc(unit, align_up(bytes, unit));
    if (values == nullptr) throw std::bad_alloc();
    if (unit == kLargePage) madvise(values, align_up(bytes, unit), MADV_HUGEPAGE);
    return values;
  }

  struct Free {
    void operator()(void* values) const { std::free(values); }
  };
  std::size_t size_;
  std::unique_ptr<void, Free> values_;
};

}  // namespace zs::uarch
