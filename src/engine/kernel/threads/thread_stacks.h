// Stacks of the engine's own for the threads of the program, used again when the kernel no longer knows who was on
// them. A thread's signal block is its alternate signal stack. It is aligned to its size and begins with a pointer to
// the Thread, so that a handler finds the thread from its stack pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/thread.h"

namespace zs::engine {

inline constexpr std::uint64_t kSignalBlockBytes = 128 << 10;

/// Gives the thread a signal block, unless it has one already.
void map_signal_block(Thread& thread);
/// The kernel takes signals of the calling thread there from now on.
void use_signal_block(const Thread& thread);

/// In a handler: whose stack `frame` is on.
inline Thread* thread_at(std::uint64_t frame) { return *reinterpret_cast<Thread**>(frame & ~(kSignalBlockBytes - 1)); }

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
