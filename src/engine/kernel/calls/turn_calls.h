// System calls in which a process waits for another one, while processes take turns (process_turns.h): the call is made
// when it need not wait any more, and the turn goes round until then. What comes of it is what the kernel would answer
// whoever calls at that moment.
//   * A write into a pipe is made in pieces that a pipe takes at once, if it takes anything (PIPE_BUF); so the kernel
//     may, too.
//   * Calls whose wait cannot be tried beforehand are made outside.
#pragma once

#include "engine/call.h"
#include "engine/kernel/virtual_time/process_turns.h"
#include "engine/run/counting_mode.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class TurnCalls {
 public:
  TurnCalls(GuestMemory& memory, const CountingMode& counting, ProcessTurns& turns)
      : memory_(memory), counting_(counting), turns_(turns) {}

  /// Without the engine lock perhaps. returns what the kernel answers, or kInterruptedBeforeStart
  long call(Thread& thread, const CallArguments& made);
  /// The thread's turn among the program's threads is over, and it computes and calls nobody.
  void compute(Thread& thread);

 private:
  long read(Thread& thread, const CallArguments& made);
  long write(Thread& thread, const CallArguments& made);
  long wait_for_child(Thread& thread, const CallArguments& made);
  long poll(Thread& thread, const CallArguments& made);
  long suspend(Thread& thread, const CallArguments& made);
  long call_outside(Thread& thread, const CallArguments& made);
  bool await_ready(Thread& thread, long fd, short events);
  bool idles(Thread& thread);

  GuestMemory& memory_;
  const CountingMode& counting_;
  ProcessTurns& turns_;
};

}  // namespace zs::engine
