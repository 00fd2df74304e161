// Lets one thread of the program run at a time, in order of arrival. Uses no libc: threads share one host TLS block, which
// belongs to whoever holds this lock.
#pragma once

#include <atomic>

#include "engine/thread.h"

namespace zs::engine {

class EngineLock {
 public:
  void acquire(Thread& thread);
  void release();
  /// Another thread is waiting.
  bool contended() const { return head_.load(std::memory_order_relaxed) != nullptr; }
  Thread* owner() const { return owner_.load(std::memory_order_relaxed); }
  /// `gone` has ended or left this address space, whatever it was doing: the lock is not its any more, nor will be.
  void abandon(Thread& gone);
  /// After fork only `thread` exists, and holds the lock.
  void reset(Thread& thread);

 private:
  void spin(Thread* thread);
  void unspin();
  void hand_over();

  std::atomic<Thread*> spinning_{nullptr};
  std::atomic<Thread*> owner_{nullptr};
  std::atomic<Thread*> head_{nullptr};
  Thread* tail_ = nullptr;
};

}  // namespace zs::engine
