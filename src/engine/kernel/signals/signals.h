// Signals of the program: what it wants with each, and how it gets them.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/kernel/signals/signal_frames.h"
#include "engine/kernel/signals/signal_gate.h"
#include "engine/kernel/threads/recorded_threads.h"
#include "engine/kernel/virtual_time/process_turns.h"
#include "engine/run.h"

namespace zs::engine {

/// What an instruction wants of memory that the engine reads, writes or fetches for it.
enum class Reach : std::uint8_t { Reads, Writes, Fetches };

class Signals {
 public:
  Signals(Run& run, SignalGate& gate, SignalFrames& frames, RecordedThreads& recorded, ProcessTurns& turns,
          ExitCounts& exits)
      : run_(run), gate_(gate), frames_(frames), recorded_(recorded), turns_(turns), exits_(exits) {}

  /// The program begins: what was ignored is ignored.
  void install_handlers();
  /// Before an execve: the new image inherits what the program ignores; one that is not followed also the rest as it is
  /// by default.
  void install_for_next_image(bool followed);
  /// It failed.
  void install_again();

  /// returns whether any waited
  bool deliver_waiting();
  /// Those of Thread::sent that the program does not block any more.
  void deliver_sent();
  /// fault  of the running thread's instruction; null if somebody sent the signal
  void deliver(int signal, const siginfo_t& info, const Fault* fault);
  /// As the kernel does for a system call: where the program blocks or ignores the signal, that ends it.
  void force(int signal, const siginfo_t& info);
  /// Whatever the program has chosen.
  [[noreturn]] void die_of(int signal, const siginfo_t& info);
  void raise_fault(int signal, int code, std::uint64_t address, std::uint64_t trap, std::uint64_t error_code = 0);
  /// `address` is not there, or not for that.
  void raise_page_fault(std::uint64_t address, Reach reach);

  long set_action(int signal, std::uint64_t action, std::uint64_t old, std::uint64_t size);
  /// or kInterruptedBeforeStart
  long set_mask(int how, std::uint64_t set, std::uint64_t old, std::uint64_t size);
  void return_from_handler();
  /// Makes `call`, in which the kernel has `mask` instead of the program's while it waits. with_any_result: a signal
  /// may have ended the wait where it does not return EINTR. What such a signal's handler begins with is left for
  /// deliver_waiting().
  long wait_with_mask(std::uint64_t mask, bool with_any_result, const std::function<long()>& call);
  /// Makes `call`, which takes one of `set` from the kernel's queue.
  long take_one_of(std::uint64_t set, const std::function<long(const std::uint64_t& set)>& call);
  /// The program has sent a signal to a process or a thread: if that ends this process, it runs no further.
  void end_by(int signal, std::int32_t to, bool to_thread);
  /// Translated code never runs again: the kernel delivers what it holds to the program's own handlers.
  [[noreturn]] void go_on_natively();

 private:
  bool is_deadly(int signal) const;
  bool is_init() const;
  void forget_sent(int signal);
  void let_kernel_deliver(int signal, const siginfo_t& info);
  void become_program(std::uint64_t mask, const stack_t& alternate);

  Run& run_;
  SignalGate& gate_;
  SignalFrames& frames_;
  RecordedThreads& recorded_;
  ProcessTurns& turns_;
  ExitCounts& exits_;
};

}  // namespace zs::engine
