#include "engine/kernel/threads/thread_stacks.h"

#include <signal.h>
#include <sys/mman.h>

#include "base/check.h"
#include "engine/host_stack.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::size_t kHostStackBytes = 256 << 10;

}  // namespace

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

bool ThreadStacks::give_to(Thread& thread) {
  reclaim();
  if (spare_.empty()) {
    thread.stack_block = map_host_stack(kHostStackBytes);
    if (thread.stack_block == nullptr) return false;
  } else {
    thread.stack_block = spare_.back().stack;
    thread.signal_block = spare_.back().signals;
    spare_.pop_back();
    forget_frames(thread.stack_block, kHostStackBytes);
  }
  map_signal_block(thread);
  thread.host_rsp = reinterpret_cast<std::uint64_t>(thread.stack_block) + kHostStackBytes - 64;
  return true;
}

void ThreadStacks::take_from(const Thread& thread) {
  if (thread.stack_block != nullptr) spare_.push_back({thread.stack_block, thread.signal_block, 0});
}

void ThreadStacks::retire(const Thread& thread) {
  if (thread.stack_block != nullptr) retiring_.push_back({thread.stack_block, thread.signal_block, thread.id.tid});
}

// The stacks of threads that the kernel no longer knows can be used again.
void ThreadStacks::reclaim() {
  const long pid = raw_syscall(SYS_getpid);
  for (std::size_t i = 0; i < retiring_.size();) {
    if (raw_syscall(SYS_tgkill, pid, retiring_[i].tid, 0) == -ESRCH) {
      spare_.push_back(retiring_[i]);
      retiring_[i] = retiring_.back();
      retiring_.pop_back();
    } else {
      ++i;
    }
  }
}

}  // namespace zs::engine
