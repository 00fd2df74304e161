// For tests: the addresses of a code cache where the engine has it, and of a second one behind it. They are reserved,
// as the program's are, because the trace may grow into what is free in front of it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/translate/code_cache.h"

namespace zs::engine {

class ReservedAddresses {
 public:
  explicit ReservedAddresses(std::size_t code_bytes = kCodeBytes)
      : bytes_(std::max(CodeCache::bytes_needed(code_bytes), 2 * CodeCache::bytes_needed(kCodeBytes))) {
    void* const at = mmap(reinterpret_cast<void*>(kBase), bytes_, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(at, reinterpret_cast<void*>(kBase));
  }
  ReservedAddresses(const ReservedAddresses&) = delete;
  ReservedAddresses& operator=(const ReservedAddresses&) = delete;
  ~ReservedAddresses() { munmap(reinterpret_cast<void*>(kBase), bytes_); }

  static constexpr std::uint64_t kBase = Layout{}.code_cache();
  static constexpr std::size_t kCodeBytes = 1 << 20;
  static constexpr int kFirstPrivateFd = 100;

 private:
  std::size_t bytes_;
};

}  // namespace zs::engine
