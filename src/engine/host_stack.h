// Stacks for the engine's own code, apart from the program's.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "engine/raw_syscall.h"

namespace zs::engine {

/// Where nothing is mapped yet, as the kernel chooses; nullptr if it has no room.
inline std::byte* map_host_stack(std::size_t bytes) {
  const long at = raw_syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return is_error(at) ? nullptr : reinterpret_cast<std::byte*>(at);
}

}  // namespace zs::engine
