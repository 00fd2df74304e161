// Lets one thread of the program run at a time, in the order of its queue. A thread gets a place there when another one
// that runs starts or wakes it, or gives its turn away: so the order of threads that meet in memory follows from the
// program. Where the kernel ends a wait, the place is behind all who wait at that moment.
// Uses no libc: threads share one host TLS block, which belongs to whoever holds this lock.
#pragma once

#include <atomic>

#include "engine/one_processor.h"
#include "engine/thread.h"

namespace zs::engine {

class EngineLock {
 public:
  /// Waits for the thread's turn, in the place that it was given, or else behind all others.
  void acquire(Thread& thread);
  void release();
  /// The same, for a holder that goes to wait until somebody gives it a place.
  void release_and_wait(Thread& self);
  /// For the holder: `thread` gets the last place, before it asks for one, unless it has one.
  void give_place(Thread& thread);
  /// The holder takes the last place, and the first thread that waits runs, or `next`, if it waits.
  void take_turns(Thread& self, Thread* next = nullptr);
  /// Another thread is waiting.
  bool contended() const { return head_.load(std::memory_order_relaxed) != nullptr; }
  /// For translated code: not 0 there while contended().
  const std::uint64_t* first_waiting() const { return reinterpret_cast<const std::uint64_t*>(&head_); }
  /// For the holder: `thread`, its own or another, may run wherever the program allows it, until it takes turns again.
  void let_go(Thread& thread) { processor_.let_go(thread); }
  /// From now on all do.
  void hold_nobody() { processor_.stop(); }
  Thread* owner() const { return owner_.load(std::memory_order_relaxed); }
  /// `gone` has ended or left this address space, whatever it was doing: the lock is not its any more, nor will be.
  void abandon(Thread& gone);
  /// A process that shares this memory has been killed while one of its threads held the lock, since this was asked
  /// last.
  bool owner_died() { return owner_died_.exchange(false); }
  /// From now on the holder may wait for memory that one of those who wait has to give (userfaultfd). Each of them
  /// looks every half millisecond, and a holder that does is told by a signal.
  void look_for_waits_of_memory() { holder_may_wait_for_memory_.store(true); }
  /// Where the thread slept that is told so; 0: it is another signal.
  static std::uint64_t where_it_waited_for_memory(const siginfo_t& info);
  /// Whether a process has ended, perhaps not yet waited for.
  static bool is_gone(std::int32_t pid);
  /// The holder has another pid or tid than when it got the lock.
  void holder_is(const Thread& thread);
  /// After fork only `thread` exists, and holds the lock.
  void reset(Thread& thread);

  /// For the holder: of those that wait, the one whose key(thread) is lowest, the first of equals; null if none waits.
  template <typename Key>
  Thread* lowest(const Key& key) {
    spin(owner());
    Thread* best = nullptr;
    for (Thread* at = head_.load(std::memory_order_relaxed); at != nullptr; at = at->next_waiting) {
      if (best == nullptr || key(*at) < key(*best)) best = at;
    }
    unspin();
    return best;
  }

 private:
  void spin(Thread* thread);
  void unspin();
  void append(Thread& thread);
  void remove(Thread& thread);
  void hand_over(const Thread* waits_now);
  void await(Thread& thread);
  void give_to(Thread* thread);
  void recover_from_dead_owner();
  void recover_from_dead_tracer(Thread& thread);
  void warn_holder_that_waits() const;
  Thread* first_that_may_run() const;

  std::atomic<Thread*> spinning_{nullptr};
  std::atomic<Thread*> owner_{nullptr};
  /// Of the owner: pid << 32 | tid. For those who wait: the Thread may be gone when they look at it.
  std::atomic<std::uint64_t> owner_ids_{0};
  std::atomic<Thread*> head_{nullptr};
  Thread* tail_ = nullptr;
  std::atomic<bool> owner_died_{false};
  std::atomic<bool> holder_may_wait_for_memory_{false};
  OneProcessor processor_;
};

}  // namespace zs::engine
