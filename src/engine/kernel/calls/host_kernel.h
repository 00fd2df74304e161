// System calls that the kernel answers: nearly all, as they are.
#pragma once

#include "engine/kernel/calls/call_commands.h"
#include "engine/kernel/calls/code_files.h"
#include "engine/kernel/calls/turn_calls.h"
#include "engine/kernel/threads/awaited_memory.h"
#include "engine/kernel/threads/thread_turns.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class HostKernel {
 public:
  HostKernel(GuestMemory& memory, ThreadSet& threads, ThreadTurns& turns, TurnCalls& turn_calls, AwaitedMemory& awaited,
             CodeFiles& files)
      : memory_(memory), threads_(threads), turns_(turns), turn_calls_(turn_calls), awaited_(awaited), files_(files) {}

  /// returns what the kernel answers, or kInterruptedBeforeStart. Other threads may have run meanwhile.
  long call(const CallArguments& made);

 private:
  static bool keeps_turn(const CallArguments& made, const CallCommand& command);

  GuestMemory& memory_;
  ThreadSet& threads_;
  ThreadTurns& turns_;
  TurnCalls& turn_calls_;
  AwaitedMemory& awaited_;
  CodeFiles& files_;
};

}  // namespace zs::engine
