// Which asynchronous signals the kernel may deliver: the kernel's end of a thread's slot. Who holds a signal at which
// moment is told in signals.cc.
#pragma once

#include <cstdint>

#include "engine/run/thread_set.h"

namespace zs::engine {

/// Everything is blocked but faults, which the engine needs itself.
inline constexpr std::uint64_t kClosedGate = ~kSynchronousSignals;

/// To a thread of this process, with all that came with the signal. The kernel allows that to a process itself only.
/// Async-signal-safe.
void queue_to_thread(std::int32_t pid, std::int32_t tid, int signal, const siginfo_t& info);

class SignalGate {
 public:
  explicit SignalGate(ThreadSet& threads) : threads_(threads) {}

  /// Closes the gate: from here on the kernel keeps every signal, and the slot is empty. Open it with settle().
  /// false: a signal waits already, nothing was changed, and its handler must run first.
  bool hold();
  /// Makes the kernel's mask the program's. Where a signal waits the gate stays closed, and its delivery comes back
  /// here.
  void settle();
  /// Makes the kernel's mask `mask`, without faults. false: a signal waits already, nothing was changed.
  bool change(std::uint64_t mask);
  /// Puts what is in Thread::sent back into the kernel's queue; held.
  void give_back_sent();
  /// Puts the slot's signal back into the kernel's queue; the gate is closed.
  void give_back_signal();
  /// Before execve, which ends the other threads of the process: what waits for them, and what they take from the
  /// kernel from now on, goes to this thread's queue in the kernel, which lives on. So does what was sent to this one
  /// and is blocked.
  void queue_for_next_image();
  /// The execve failed.
  void let_others_take_signals();

 private:
  ThreadSet& threads_;
};

}  // namespace zs::engine
