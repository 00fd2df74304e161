#include "engine/kernel/signal_block.h"

#include <sys/mman.h>

#include "base/check.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

void map_signal_block(Thread& thread) {
  void* block = thread.signal_block;
  if (block == nullptr) {
    // Aligned to its size, so that the handler finds the thread from its stack pointer.
    const long at = raw_syscall(SYS_mmap, nullptr, 2 * kSignalBlockBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(!is_error(at));
    const std::uint64_t aligned = (static_cast<std::uint64_t>(at) + kSignalBlockBytes - 1) & ~(kSignalBlockBytes - 1);
    if (aligned != static_cast<std::uint64_t>(at))
      raw_syscall(SYS_munmap, at, aligned - static_cast<std::uint64_t>(at));
    const std::uint64_t end = static_cast<std::uint64_t>(at) + 2 * kSignalBlockBytes;
    if (aligned + kSignalBlockBytes != end)
      raw_syscall(SYS_munmap, aligned + kSignalBlockBytes, end - aligned - kSignalBlockBytes);
    block = reinterpret_cast<void*>(aligned);
  }
  thread.signal_block = block;
  *static_cast<Thread**>(block) = &thread;
}

void use_signal_block(const Thread& thread) {
  stack_t alternate{};
  alternate.ss_sp = static_cast<std::byte*>(thread.signal_block) + 64;
  alternate.ss_size = kSignalBlockBytes - 64;
  CHECK(raw_syscall(SYS_sigaltstack, &alternate, nullptr) == 0);
}

}  // namespace zs::engine
