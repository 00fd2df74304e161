// For tests: a window where the engine has it. What the trace may grow into is reserved, as the program's addresses
// are.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "engine/translate/code_cache.h"

namespace zs::engine {

class ReservedWindow {
 public:
  ReservedWindow() {
    void* const at = mmap(reinterpret_cast<void*>(kBase), Window::bytes_needed(kCodeBytes), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(at, reinterpret_cast<void*>(kBase));
  }
  ReservedWindow(const ReservedWindow&) = delete;
  ReservedWindow& operator=(const ReservedWindow&) = delete;
  ~ReservedWindow() { munmap(reinterpret_cast<void*>(kBase), Window::bytes_needed(kCodeBytes)); }

  static constexpr std::uint64_t kBase = 0x6000'0000;
  static constexpr std::size_t kCodeBytes = 1 << 20;
  static constexpr int kFirstPrivateFd = 100;
};

}  // namespace zs::engine
