// Futexes of the program. Private ones, and the word that a thread's end clears (what pthread_join waits for), are kept
// here: a waiter sleeps in the kernel for its turn alone, and a signal or a timeout ends that as it would end the
// program's own call. Sleep is a wait that nobody ends.
// Left to the kernel: futexes that other processes may share, those with priority inheritance, robust lists of threads
// that are shown the kernel's id.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/account/core_feeder.h"
#include "engine/call.h"
#include "engine/kernel/threads/futex_waiters.h"
#include "engine/kernel/threads/thread_turns.h"
#include "engine/kernel/virtual_time/virtual_clock.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

/// Calls of Linux 6.7, which older headers lack.
inline constexpr long kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456;

class Futexes {
 public:
  Futexes(GuestMemory& memory, ThreadSet& threads, const RunSettings& settings, CoreFeeder& core, ThreadTurns& turns)
      : memory_(memory), threads_(threads), settings_(settings), core_(core), turns_(turns) {}

  /// futex(2); nullopt: the kernel's business.
  std::optional<long> call(const long (&a)[6]);
  /// futex_wake, futex_wait and futex_requeue; nullopt: the kernel's business.
  std::optional<long> later_call(const CallArguments& made);
  /// futex_waitv(2); nullopt: the kernel's business.
  std::optional<long> wait_for_any(const long (&a)[6]);
  /// nanosleep(2) as long as Thread::limit_of_wait says, with --virtual-time beside other threads: so many of their
  /// turns, so that where it ends is a place in the program. left: where what is left of it is written if a signal ends
  /// it; 0: nowhere. nullopt: the kernel's business
  std::optional<long> sleep(std::uint64_t left);
  /// The thread ends: its word is cleared as the kernel does it, but now, so that who waits for it gets a place now.
  void clear_word_of(Thread& thread);
  /// The thread that runs has computed for a turn.
  void turn_ended();
  /// In a forked child nobody waits.
  void forget_waiters() { waiters_.clear(); }

 private:
  void goes_on(Thread& thread);
  long wait_at(FutexWaiters::Key key, const long (&a)[6]);
  long wait_for_limit(FutexWaiters::Key key, std::uint32_t bits);
  long wait(FutexWaiters::Key key, std::uint32_t bits, std::uint64_t until, long operation, const TwoWords* timeout);
  long sleep_until_turn(Thread& thread, long number, const long (&a)[6]);
  bool is_ours(std::uint64_t address, bool shared) const;
  long wake_shared(std::uint64_t address, std::uint32_t most, std::uint32_t bits);
  std::uint64_t turns_until_limit() const;
  std::uint32_t wake_at(FutexWaiters::Key key, std::uint32_t most, std::uint32_t bits);

  GuestMemory& memory_;
  ThreadSet& threads_;
  const RunSettings& settings_;
  CoreFeeder& core_;
  ThreadTurns& turns_;
  FutexWaiters waiters_;
  /// Turns that threads have ended: with --virtual-time what limits of waits are measured in.
  std::uint64_t turns_ended_ = 0;
};

}  // namespace zs::engine
