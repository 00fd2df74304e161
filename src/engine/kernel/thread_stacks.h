// Stacks of the engine's own for the threads of the program, used again when the kernel no longer knows who was on
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/thread.h"

namespace zs::engine {

class ThreadStacks {
 public:
  /// Gives a thread that is to begin its stack and its signal block. returns false if there is no room
  bool give_to(Thread& thread);
  /// The thread is on them no more.
  void take_from(const Thread& thread);
  /// The running thread, which may still be on them, ends.
  void retire(const Thread& thread);

 private:
  struct Stacks {
    void* stack;
    void* signals;
    std::int32_t tid;
  };
  void reclaim();

  std::vector<Stacks> spare_;
  std::vector<Stacks> retiring_;  // of threads that may still be on them
};

}  // namespace zs::engine
