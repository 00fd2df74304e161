// Under --virtual-time: process ids in system calls are those that the program is shown (process_ids.h), and the first
// process and its parent have numbers of their own (engine.h). Ids of threads are the kernel's but for a process's
// first: the kernel compares them with what lies in futexes. So mutexes with priority inheritance do not work between
// processes' first threads, and a robust mutex of one that somebody else kills stays locked.
// Not translated: ids that come with messages (SCM_CREDENTIALS, signalfd), SysV IPC's notes of who did what,
// F_SETOWN_EX, CPU clocks of other processes, what files and folders below /proc contain.
#pragma once

#include "engine/kernel/call.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class IdCalls final : public AnswersCalls {
 public:
  IdCalls(GuestMemory& memory, ThreadSet& threads, AnswersCalls& next)
      : memory_(memory), threads_(threads), next_(next) {}

  Outcome answer(const CallArguments& made) override;

 private:
  GuestMemory& memory_;
  ThreadSet& threads_;
  AnswersCalls& next_;
};

}  // namespace zs::engine
