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
  /// After fork only `thread` exists, and holds the lock.
  void reset(Thread& thread);

 private:
  void spin();
  void unspin();

  std::atomic<std::uint32_t> spinning_{0};
  std::atomic<Thread*> owner_{nullptr};
  std::atomic<Thread*> head_{nullptr};
  Thread* tail_ = nullptr;
};

}  // namespace zs::engine
