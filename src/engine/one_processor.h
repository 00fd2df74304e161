// Threads that take turns need no more than one processor. Left alone, the kernel wakes each of them on an idle one:
// where processors are virtual that costs both sides some ten microseconds, and turns are not much longer. So who gets
// the turn from one that will wait for it to come back is held to the processor where that one runs; now and then
// nobody is held, and the kernel chooses anew where all of them are.
// What the program sees and sets of its processors is its own: it is given back before it asks, and before anything
// inherits it.
// Uses no libc, as EngineLock, whose holder alone calls this.
#pragma once

#include <sched.h>

#include <cstdint>

namespace zs::engine {

struct Thread;

/// Of a thread: where it is held.
struct HeldTo {
  std::int32_t processor = -1;  // -1: it is not
  cpu_set_t allowed{};          // by the program, otherwise
};

class OneProcessor {
 public:
  /// `before` runs, and waits from now on until `next` or another one gives its turn away.
  void follow(const Thread& before, Thread& next);
  /// `thread` may run wherever the program allows it.
  void let_go(Thread& thread);
  /// Nobody is held any more who is not now.
  void stop() { may_hold_ = false; }

 private:
  void hold(Thread& thread, std::int32_t processor);

  bool may_hold_ = true;  // neither the kernel nor stop() has said otherwise
  std::uint32_t turns_ = 0;
};

}  // namespace zs::engine
