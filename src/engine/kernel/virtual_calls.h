// --virtual-time: what system calls tell of the host's clocks, of its load and of chance is answered from what the
// program did.
//   * Clocks show the run's own time (virtual_clock.h). A wait takes the host's time, and moves the clock on by what
//     the program asked for; only one that a signal ended moves it by what it took, because nothing else says how long
//     that was. At a futex it takes the time that the other threads compute, a turn being a quarter of a millisecond,
//     as long as one of them does (futexes.cc).
//   * A point in time that the program waits for is one of its own clock: the kernel is given the same distance from
//     now.
//   * Random bytes are a stream of the run's.
//   * Reading a file changes when it was last read, so the next run would see another time: access times are those of
//     the last change.
//     Other times of files, their numbers and their order in a folder are input, as their contents are.
//   * What was used so far, and what is free, is the host's: nothing was used, everything is free.
// Not done: what timers say of the time that is left, absolute times of timers, what /proc tells of the whole machine.
#pragma once

#include <array>
#include <cstdint>

#include "engine/kernel/call.h"
#include "engine/kernel/call_table.h"
#include "engine/kernel/virtual_clock.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

inline constexpr std::int64_t kBillion = 1'000'000'000;
constexpr TwoWords timespec_of(std::int64_t nanoseconds) { return {nanoseconds / kBillion, nanoseconds % kBillion}; }
/// What a clock of the run shows, in nanoseconds, when it has run for so long.
std::int64_t shown_by(clockid_t clock, std::uint64_t now);

class VirtualCalls final : public AnswersCalls {
 public:
  VirtualCalls(GuestMemory& memory, ThreadSet& threads, VirtualClock& clock, AnswersCalls& next)
      : memory_(memory), threads_(threads), clock_(clock), next_(next) {}

  Outcome answer(const CallArguments& made) override;

 private:
  Outcome wait(const Call& call, const CallArguments& made);
  void hide_host(long number, const long (&a)[6], long result);

  GuestMemory& memory_;
  ThreadSet& threads_;
  VirtualClock& clock_;
  AnswersCalls& next_;
};

}  // namespace zs::engine
