// Mappings for tests, by the numbers of their pages.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "engine/memory/mappings.h"

namespace zs::engine {

inline constexpr std::uint32_t kReadWrite = PROT_READ | PROT_WRITE;

constexpr std::uint64_t start_of(std::uint64_t number) { return number * kPageSize; }

inline GuestMapping pages(std::uint64_t first, std::uint64_t last, std::uint32_t prot = kReadWrite) {
  return {.start = start_of(first), .end = start_of(last), .prot = prot, .flags = MAP_PRIVATE | MAP_ANONYMOUS};
}

}  // namespace zs::engine
