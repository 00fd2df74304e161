#include "engine/kernel/signals/signal_gate.h"

#include "engine/kernel/threads/syscall_window.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Does nothing and returns kInterruptedBeforeStart while `pending` is not 0.
long set_kernel_mask(std::uint64_t mask, const std::atomic<std::uint32_t>& pending) {
  const long arguments[6] = {SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask, 0, 0};
  return zs_interruptible_syscall(SYS_rt_sigprocmask, arguments, &pending);
}

}  // namespace

void queue_to_thread(std::int32_t pid, std::int32_t tid, int signal, const siginfo_t& info) {
  // The queue is full, or it is not the first thread, which alone may send itself what the kernel or somebody else has
  // sent: without what came with it.
  if (is_error(raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info))) raw_syscall(SYS_tgkill, pid, tid, signal);
}

bool SignalGate::hold() { return change(~std::uint64_t{0}); }

void SignalGate::settle() { change(threads_.thread->mask_in_force() & ~kSynchronousSignals); }

bool SignalGate::change(std::uint64_t mask) {
  if (set_kernel_mask(mask, threads_.thread->pending) != 0) return false;
  threads_.thread->takes_faults = (mask & kSynchronousSignals) == 0;
  return true;
}

void SignalGate::give_back_signal() {
  Thread& thread = *threads_.thread;
  queue_to_thread(thread.process->pid, thread.id.tid, thread.pending_signal, thread.pending_info);
  thread.pending.fetch_and(~kSlotFull);
  settle();
}

void SignalGate::give_back_sent() {
  Thread& thread = *threads_.thread;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((thread.sent.load() & signal_bit(signal)) == 0) continue;
    queue_to_thread(thread.process->pid, thread.id.tid, signal, thread.sent_info[signal]);
  }
  thread.sent.store(0);
}

void SignalGate::queue_for_next_image() {
  Thread& taker = *threads_.thread;
  give_back_sent();
  if (threads_.threads.size() == 1) return;
  std::atomic_ref(taker.process->exec_tid).store(taker.id.tid);
  for (const auto& other : threads_.threads) {
    if (other.get() == &taker || other->process != taker.process) continue;
    if ((other->pending.fetch_and(~kSlotFull) & kSlotFull) == 0) continue;
    queue_to_thread(taker.process->pid, taker.id.tid, other->pending_signal, other->pending_info);
  }
}

void SignalGate::let_others_take_signals() {
  Thread& taker = *threads_.thread;
  if (std::atomic_ref(taker.process->exec_tid).exchange(0) == 0) return;
  for (const auto& other : threads_.threads) {
    // Its gate may be closed, its slot empty: it looks, and settles its mask.
    if (other.get() != &taker && other->process == taker.process) other->pending.fetch_or(kSentWaits);
  }
}

}  // namespace zs::engine
