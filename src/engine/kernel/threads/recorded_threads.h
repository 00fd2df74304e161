// The threads of the program as the recording hears of them: each begins with PMUs and a core, and ends when all that
// it did is counted.
#pragma once

#include "engine/account/accountant.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class RecordedThreads {
 public:
  RecordedThreads(GuestMemory& memory, ThreadSet& threads, Accountant& accountant)
      : memory_(memory), threads_(threads), accountant_(accountant) {}

  void announce(Thread& thread);
  void forget(Thread& thread);
  /// Of the running thread's process: a vfork child ends alone.
  void end_all();

 private:
  GuestMemory& memory_;
  ThreadSet& threads_;
  Accountant& accountant_;
};

}  // namespace zs::engine
