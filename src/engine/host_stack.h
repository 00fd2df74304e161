// Stacks for the engine's own code, apart from the program's.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "engine/raw_syscall.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZS_STACKS_HAVE_SHADOWS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ZS_STACKS_HAVE_SHADOWS
#endif
#if defined(ZS_STACKS_HAVE_SHADOWS)
#include <sanitizer/asan_interface.h>
#endif

namespace zs::engine {

/// Where nothing is mapped yet, as the kernel chooses; nullptr if it has no room.
inline std::byte* map_host_stack(std::size_t bytes) {
  const long at = raw_syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return is_error(at) ? nullptr : reinterpret_cast<std::byte*>(at);
}

/// To be called for a stack that is used anew. AddressSanitizer notes the borders of variables outside the stack and
/// takes them back as functions return; those of a thread that ended never did, and nothing tells it that their frames
/// are gone.
inline void forget_frames([[maybe_unused]] void* stack, [[maybe_unused]] std::size_t bytes) {
#if defined(ZS_STACKS_HAVE_SHADOWS)
  __asan_unpoison_memory_region(stack, bytes);
#endif
}

}  // namespace zs::engine
