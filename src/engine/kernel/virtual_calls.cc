#include "engine/kernel/virtual_calls.h"

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

#include "engine/kernel/futexes.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Whether the limit is one at all: other futex operations have numbers and pointers there.
bool is_limited(long number, const long (&a)[6]) {
  if (number != SYS_futex) return true;
  switch (a[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2: return true;
    default: return false;
  }
}

/// The clock that the limit is a point of; none: it is how long.
std::optional<clockid_t> clock_of_limit(long number, const long (&a)[6]) {
  if (number == SYS_clock_nanosleep)
    return (a[1] & TIMER_ABSTIME) != 0 ? std::optional(static_cast<clockid_t>(a[0])) : std::nullopt;
  if (number == SYS_futex_waitv || number == kFutexWait)
    return a[number == kFutexWait ? 5 : 4] == CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const long operation = a[1] & FUTEX_CMD_MASK;
  if (number != SYS_futex || operation == FUTEX_WAIT) return std::nullopt;
  return operation == FUTEX_LOCK_PI || (a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

bool shows_date(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

std::int64_t host_time(clockid_t clock) {
  TwoWords now{};
  raw_syscall(SYS_clock_gettime, clock, now.data());
  return now[0] * kBillion + now[1];
}

/// Which argument points at where the call writes what was used; none: it does not.
std::optional<int> usage_argument(long number) {
  switch (number) {
    case SYS_getrusage: return 1;
    case SYS_wait4: return 3;
    case SYS_waitid: return 4;
    default: return std::nullopt;
  }
}

}  // namespace

std::int64_t shown_by(clockid_t clock, std::uint64_t now) {
  return static_cast<std::int64_t>(now + (shows_date(clock) ? VirtualClock::kEpochSeconds * kBillion : 0));
}

Outcome VirtualCalls::answer(const CallArguments& made) {
  const auto& [number, a] = made;
  const Call& call = call_of(number);
  threads_.thread->limit_of_wait = -1;
  const bool waits = call.limit.unit != TimeUnit::None && is_limited(number, a);
  long asked[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  if (number == SYS_statx && (a[3] & STATX_ATIME) != 0) asked[3] |= STATX_MTIME;
  Outcome outcome = waits ? wait(call, made) : next_.answer({number, asked});
  if (outcome.set_result && !is_error(outcome.result)) hide_host(number, a, outcome.result);
  return outcome;
}

Outcome VirtualCalls::wait(const Call& call, const CallArguments& made) {
  const auto& a = made.a;
  const auto place = static_cast<std::uint64_t>(a[call.limit.argument]);
  std::int64_t limit = 0;
  std::optional<TwoWords> given;
  if (call.limit.unit == TimeUnit::Milliseconds) {
    limit = std::int64_t{static_cast<std::int32_t>(a[call.limit.argument])} * 1'000'000;
    if (limit < 0) return next_.answer(made);
  } else {
    given = place == 0 ? std::nullopt : read_guest_value<TwoWords>(place);
    const std::int64_t unit = call.limit.unit == TimeUnit::Timeval ? 1000 : 1;
    constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;  // nobody waits for longer
    // For ever, or as the kernel answers what is no time.
    if (!given || (*given)[0] < 0 || (*given)[0] > kMostSeconds || (*given)[1] < 0 || (*given)[1] >= kBillion / unit)
      return next_.answer(made);
    limit = (*given)[0] * kBillion + (*given)[1] * unit;
  }
  long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  const std::uint64_t began = clock_.now();
  TwoWords until{};
  if (const auto clock = clock_of_limit(call.number, a)) {
    limit = std::max<std::int64_t>(limit - shown_by(*clock, began), 0);
    until = timespec_of(host_time(*clock) + limit);
    changed[call.limit.argument] = reinterpret_cast<long>(until.data());
    const auto at = reinterpret_cast<std::uint64_t>(until.data());
    lend_to_call({at, at + sizeof until});
  }
  threads_.thread->limit_of_wait = limit;
  const std::int64_t host_began = host_time(CLOCK_MONOTONIC);
  const Outcome outcome = next_.answer({call.number, changed});
  lend_to_call({});
  if (outcome.result == call.limit.when_over)
    clock_.reach(began + static_cast<std::uint64_t>(limit));
  else if (outcome.result == -EINTR)
    clock_.reach(began + static_cast<std::uint64_t>(host_time(CLOCK_MONOTONIC) - host_began));
  if (call.limit.told && given) {
    const TwoWords left = outcome.result == call.limit.when_over ? TwoWords{} : *given;
    memory_.write(place, left.data(), sizeof left);
  }
  return outcome;
}

// Of a call that went well: what it wrote of the host.
void VirtualCalls::hide_host(long number, const long (&a)[6], long result) {
  if (const Call& call = call_of(number); call.has(kTellsStatus)) {
    const auto place = static_cast<std::uint64_t>(a[call.written[0].argument]);
    const auto status = read_guest_value<struct stat>(place);
    if (status) memory_.write(place + offsetof(struct stat, st_atim), &status->st_mtim, sizeof status->st_mtim);
  } else if (number == SYS_statx) {
    const auto place = static_cast<std::uint64_t>(a[4]);
    const auto status = read_guest_value<struct statx>(place);
    if (status) memory_.write(place + offsetof(struct statx, stx_atime), &status->stx_mtime, sizeof status->stx_mtime);
  } else if (const auto used = usage_argument(number); used && a[*used] != 0) {
    // No child: nothing was written.
    constexpr std::array<std::byte, sizeof(rusage)> kNothing{};
    if (number != SYS_wait4 || result > 0)
      memory_.write(static_cast<std::uint64_t>(a[*used]), kNothing.data(), kNothing.size());
  } else if (number == SYS_sysinfo) {
    auto machine = read_guest_value<struct sysinfo>(static_cast<std::uint64_t>(a[0]));
    if (!machine) return;
    machine->uptime = static_cast<long>(clock_.look() / kBillion);
    std::ranges::fill(machine->loads, 0);
    machine->freeram = machine->totalram;
    machine->sharedram = machine->bufferram = 0;
    machine->freeswap = machine->totalswap;
    machine->procs = 1;
    memory_.write(static_cast<std::uint64_t>(a[0]), &*machine, sizeof *machine);
  } else if (number == SYS_clock_gettime && a[0] < 0) {
    constexpr long kKind = 7, kDevice = 3;  // source: Linux, posix-timers.h, CPUCLOCK_CLOCK_MASK, CLOCKFD
    const TwoWords now = timespec_of(static_cast<std::int64_t>(clock_.look()));
    if ((a[0] & kKind) != kDevice) memory_.write(static_cast<std::uint64_t>(a[1]), now.data(), sizeof now);
  }
}

}  // namespace zs::engine
