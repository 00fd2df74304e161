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

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "engine/kernel/calls/call_commands.h"
#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/fixed_machine.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {
namespace {

/// The clock that the limit is a point of; none: it is how long.
std::optional<clockid_t> clock_of_limit(const CallArguments& made) {
  const auto& [number, a] = made;
  if (number == SYS_clock_nanosleep)
    return (a[1] & TIMER_ABSTIME) != 0 ? std::optional(static_cast<clockid_t>(a[0])) : std::nullopt;
  if (number == SYS_futex_waitv || number == kFutexWait)
    return a[number == kFutexWait ? 5 : 4] == CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const long operation = a[1] & FUTEX_CMD_MASK;
  if (number != SYS_futex || operation == FUTEX_WAIT) return std::nullopt;
  return operation == FUTEX_LOCK_PI || (a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

Outcome wait_for_limit(GuestKernel& kernel, const Call& call, const CallArguments& made) {
  const auto& a = made.a;
  const std::uint64_t place = made.u(call.limit.argument);
  std::int64_t limit = 0;
  std::optional<TwoWords> given;
  if (call.limit.unit == TimeUnit::Milliseconds) {
    limit = std::int64_t{made.i32(call.limit.argument)} * 1'000'000;
    if (limit < 0) return in_shown_ids(kernel, made);
  } else {
    given = place == 0 ? std::nullopt : read_guest_value<TwoWords>(place);
    const std::int64_t unit = call.limit.unit == TimeUnit::Timeval ? 1000 : 1;
    constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;  // nobody waits for longer
    // For ever, or as the kernel answers what is no time.
    if (!given || (*given)[0] < 0 || (*given)[0] > kMostSeconds || (*given)[1] < 0 || (*given)[1] >= kBillion / unit)
      return in_shown_ids(kernel, made);
    limit = (*given)[0] * kBillion + (*given)[1] * unit;
  }
  long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  const std::uint64_t began = kernel.clock.now();
  TwoWords until{};
  if (const auto clock = clock_of_limit(made)) {
    limit = std::max<std::int64_t>(limit - shown_by(*clock, began), 0);
    until = timespec_of(host_time(*clock) + limit);
    changed[call.limit.argument] = reinterpret_cast<long>(until.data());
    const auto at = reinterpret_cast<std::uint64_t>(until.data());
    lend_to_call({at, at + sizeof until});
  }
  kernel.run.thread->limit_of_wait = limit;
  const std::int64_t host_began = host_time(CLOCK_MONOTONIC);
  const Outcome outcome = in_shown_ids(kernel, {call.number, changed});
  lend_to_call({});
  if (outcome.result == call.limit.when_over)
    kernel.clock.reach(began + static_cast<std::uint64_t>(limit));
  else if (outcome.result == -EINTR)
    kernel.clock.reach(began + static_cast<std::uint64_t>(host_time(CLOCK_MONOTONIC) - host_began));
  if (call.limit.told && given) {
    const TwoWords left = outcome.result == call.limit.when_over ? TwoWords{} : *given;
    kernel.memory.write(place, left.data(), sizeof left);
  }
  return outcome;
}

// Of a call that went well: what it wrote of the host.
void hide_host(GuestKernel& kernel, const CallArguments& made, long result) {
  const auto& [number, a] = made;
  const Call& call = call_of(number);
  if (call.has(kTellsStatus)) {
    const std::uint64_t place = made.u(call.written[0].argument);
    const auto status = read_guest_value<struct stat>(place);
    if (status) kernel.memory.write(place + offsetof(struct stat, st_atim), &status->st_mtim, sizeof status->st_mtim);
  } else if (number == SYS_statx) {
    const std::uint64_t place = made.u(4);
    const auto status = read_guest_value<struct statx>(place);
    if (status)
      kernel.memory.write(place + offsetof(struct statx, stx_atime), &status->stx_mtime, sizeof status->stx_mtime);
  } else if (call.usage >= 0 && a[call.usage] != 0) {
    // No child: nothing was written.
    constexpr std::array<std::byte, sizeof(rusage)> kNothing{};
    if (number != SYS_wait4 || result > 0) kernel.memory.write(made.u(call.usage), kNothing.data(), kNothing.size());
  } else if (number == SYS_sysinfo) {
    auto machine = read_guest_value<struct sysinfo>(made.u(0));
    if (!machine) return;
    machine->uptime = static_cast<long>(kernel.clock.look() / kBillion);
    std::ranges::fill(machine->loads, 0);
    if (kernel.run.config.cpu_level != arch::CpuLevel::Host) {
      machine->totalram = arch::kFixedMemory / machine->mem_unit;
      machine->totalswap = machine->totalhigh = 0;
    }
    machine->freeram = machine->totalram;
    machine->sharedram = machine->bufferram = 0;
    machine->freeswap = machine->totalswap;
    machine->procs = 1;
    kernel.memory.write(made.u(0), &*machine, sizeof *machine);
  }
}

}  // namespace

Outcome in_virtual_time(GuestKernel& kernel, const CallArguments& made) {
  const auto& [number, a] = made;
  const Call& call = call_of(number);
  kernel.run.thread->limit_of_wait = -1;
  // Other futex operations have numbers and pointers there.
  const bool waits =
      call.limit.unit != TimeUnit::None && (number != SYS_futex || command_of(made).waits != Waits::Never);
  long asked[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  if (number == SYS_statx && (a[3] & STATX_ATIME) != 0) asked[3] |= STATX_MTIME;
  const Outcome outcome = waits ? wait_for_limit(kernel, call, made) : in_shown_ids(kernel, {number, asked});
  if (outcome.set_result && !is_error(outcome.result)) hide_host(kernel, made, outcome.result);
  return outcome;
}

}  // namespace zs::engine::calls
