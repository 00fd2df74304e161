// An allocator for arrays that reserve address space for their largest size and grow into it. A small program pays small pages, one by one; what lies
// beyond the first two mebibytes comes in large pages, where the kernel has some: a fault for 512 of them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "engine/memory/layout.h"

namespace zs::engine {

template <typename T>
struct GrowingAllocator {
  using value_type = T;
  GrowingAllocator() = default;
  template <typename Other>
  GrowingAllocator(const GrowingAllocator<Other>&) {}  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(std::size_t count) {
    void* const at =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    const auto begin = reinterpret_cast<std::uint64_t>(at), end = begin + count * sizeof(T);
    const std::uint64_t large = (begin + 2 * kHugePageSize - 1) & ~(kHugePageSize - 1);
    if (large < end) madvise(reinterpret_cast<void*>(large), end - large, MADV_HUGEPAGE);
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t count) { munmap(at, count * sizeof(T)); }
  bool operator==(const GrowingAllocator&) const { return true; }
};

template <typename T>
using GrowingArray = std::vector<T, GrowingAllocator<T>>;

}  // namespace zs::engine
