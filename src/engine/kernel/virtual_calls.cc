// --virtual-time: what system calls tell of the host's clocks, of its load and of chance is answered from what the program did.
//   * Clocks show the run's own time (virtual_clock.h). A wait takes the host's time, and moves the clock on by what the program asked
//     for; only one that a signal ended moves it by what it took, because nothing else says how long that was. At a futex it takes the
//     time that the other threads compute, a turn being a quarter of a millisecond, as long as one of them does (futex.cc).
//   * A point in time that the program waits for is one of its own clock: the kernel is given the same distance from now.
//   * Random bytes are a stream of the run's.
//   * Reading a file changes when it was last read, so the next run would see another time: access times are those of the last change.
//     Other times of files, their numbers and their order in a folder are input, as their contents are.
//   * What was used so far, and what is free, is the host's: nothing was used, everything is free.
// Not done: what timers say of the time that is left, absolute times of timers, what /proc tells of the whole machine.

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/kernel/call_table.h"
#include "engine/kernel/syscall_window.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {

namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
TwoWords timespec_of(std::int64_t nanoseconds) { return {nanoseconds / kBillion, nanoseconds % kBillion}; }

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
  const long operation = a[1] & FUTEX_CMD_MASK;
  if (number != SYS_futex || operation == FUTEX_WAIT) return std::nullopt;
  return operation == FUTEX_LOCK_PI || (a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

bool shows_date(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

/// What a clock of the run shows, in nanoseconds, when it has run for so long.
std::int64_t shown_by(clockid_t clock, std::uint64_t now) {
  return static_cast<std::int64_t>(now + (shows_date(clock) ? VirtualClock::kEpochSeconds * kBillion : 0));
}

std::int64_t host_time(clockid_t clock) {
  TwoWords now{};
  raw_syscall(SYS_clock_gettime, clock, now.data());
  return now[0] * kBillion + now[1];
}

/// /dev/random or /dev/urandom, open for reading.
bool is_random_device(long fd) {
  // source: Linux, admin-guide/devices.txt, "Memory devices"
  constexpr unsigned kMemory = 1, kRandom = 8, kUrandom = 9;
  struct stat status {};
  if (raw_syscall(SYS_fstat, fd, &status) != 0 || !S_ISCHR(status.st_mode) || major(status.st_rdev) != kMemory)
    return false;
  const unsigned number = minor(status.st_rdev);
  const long mode = raw_syscall(SYS_fcntl, fd, F_GETFL);
  return (number == kRandom || number == kUrandom) && !is_error(mode) && (mode & O_ACCMODE) != O_WRONLY;
}

/// Which argument points at where the call writes that kind of answer; none: it does not.
std::optional<int> status_argument(long number) {
  switch (number) {
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat: return 1;
    case SYS_newfstatat: return 2;
    default: return std::nullopt;
  }
}
std::optional<int> usage_argument(long number) {
  switch (number) {
    case SYS_getrusage: return 1;
    case SYS_wait4: return 3;
    case SYS_waitid: return 4;
    default: return std::nullopt;
  }
}

}  // namespace

Runtime::Outcome Runtime::in_virtual_time(long number, const long (&a)[6]) {
  const Call& call = call_of(number);
  const bool waits = call.limit.unit != TimeUnit::None && is_limited(number, a);
  long asked[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  if (number == SYS_statx && (a[3] & STATX_ATIME) != 0) asked[3] |= STATX_MTIME;
  Outcome outcome = waits ? wait_in_virtual_time(call, a) : in_shown_ids(number, asked);
  if (outcome.set_result && !is_error(outcome.result)) hide_host(number, a, outcome.result);
  return outcome;
}

Runtime::Outcome Runtime::wait_in_virtual_time(const Call& call, const long (&a)[6]) {
  const auto place = static_cast<std::uint64_t>(a[call.limit.argument]);
  std::int64_t limit = 0;
  std::optional<TwoWords> given;
  if (call.limit.unit == TimeUnit::Milliseconds) {
    limit = std::int64_t{static_cast<std::int32_t>(a[call.limit.argument])} * 1'000'000;
    if (limit < 0) return in_shown_ids(call.number, a);
  } else {
    given = place == 0 ? std::nullopt : read_guest_value<TwoWords>(place);
    const std::int64_t unit = call.limit.unit == TimeUnit::Timeval ? 1000 : 1;
    constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;  // nobody waits for longer
    // For ever, or as the kernel answers what is no time.
    if (!given || (*given)[0] < 0 || (*given)[0] > kMostSeconds || (*given)[1] < 0 || (*given)[1] >= kBillion / unit)
      return in_shown_ids(call.number, a);
    limit = (*given)[0] * kBillion + (*given)[1] * unit;
  }
  long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  const std::uint64_t began = clock_.now();
  TwoWords until{};
  if (const auto clock = clock_of_limit(call.number, a)) {
    limit = std::max<std::int64_t>(limit - shown_by(*clock, began), 0);
    until = timespec_of(host_time(*clock) + limit);
    changed[call.limit.argument] = reinterpret_cast<long>(until.data());
  }
  limit_of_wait_ = limit;
  const std::int64_t host_began = host_time(CLOCK_MONOTONIC);
  const Outcome outcome = in_shown_ids(call.number, changed);
  if (outcome.result == call.limit.when_over)
    clock_.reach(began + static_cast<std::uint64_t>(limit));
  else if (outcome.result == -EINTR)
    clock_.reach(began + static_cast<std::uint64_t>(host_time(CLOCK_MONOTONIC) - host_began));
  if (call.limit.told && given) {
    const TwoWords left = outcome.result == call.limit.when_over ? TwoWords{} : *given;
    run_.write(place, left.data(), sizeof left);
  }
  return outcome;
}

// Of a call that went well: what it wrote of the host.
void Runtime::hide_host(long number, const long (&a)[6], long result) {
  if (const auto at = status_argument(number)) {
    const auto place = static_cast<std::uint64_t>(a[*at]);
    const auto status = read_guest_value<struct stat>(place);
    if (status) run_.write(place + offsetof(struct stat, st_atim), &status->st_mtim, sizeof status->st_mtim);
  } else if (number == SYS_statx) {
    const auto place = static_cast<std::uint64_t>(a[4]);
    const auto status = read_guest_value<struct statx>(place);
    if (status) run_.write(place + offsetof(struct statx, stx_atime), &status->stx_mtime, sizeof status->stx_mtime);
  } else if (const auto used = usage_argument(number); used && a[*used] != 0) {
    // No child: nothing was written.
    constexpr std::array<std::byte, sizeof(rusage)> kNothing{};
    if (number != SYS_wait4 || result > 0)
      run_.write(static_cast<std::uint64_t>(a[*used]), kNothing.data(), kNothing.size());
  } else if (number == SYS_sysinfo) {
    auto machine = read_guest_value<struct sysinfo>(static_cast<std::uint64_t>(a[0]));
    if (!machine) return;
    machine->uptime = static_cast<long>(clock_.look() / kBillion);
    std::ranges::fill(machine->loads, 0);
    machine->freeram = machine->totalram;
    machine->sharedram = machine->bufferram = 0;
    machine->freeswap = machine->totalswap;
    machine->procs = 1;
    run_.write(static_cast<std::uint64_t>(a[0]), &*machine, sizeof *machine);
  } else if (number == SYS_clock_gettime && a[0] < 0) {
    constexpr long kKind = 7, kDevice = 3;  // source: Linux, posix-timers.h, CPUCLOCK_CLOCK_MASK, CLOCKFD
    const TwoWords now = timespec_of(static_cast<std::int64_t>(clock_.look()));
    if ((a[0] & kKind) != kDevice) run_.write(static_cast<std::uint64_t>(a[1]), now.data(), sizeof now);
  }
}

// The next bytes of the run's random numbers, as far as they can be written. Returns how many, as read and getrandom do.
long Runtime::write_random(std::uint64_t address, std::uint64_t size) {
  std::array<std::uint64_t, 512> words;
  std::uint64_t done = 0;
  while (done < size) {
    const std::uint64_t now = std::min<std::uint64_t>(size - done, sizeof words);
    for (std::size_t i = 0; 8 * i < now; ++i) words[i] = clock_.random();
    const std::uint64_t wrote = run_.write(address + done, words.data(), now);
    done += wrote;
    if (wrote != now) break;
  }
  return done == 0 && size != 0 ? -EFAULT : static_cast<long>(done);
}

std::optional<long> Runtime::virtual_syscall(long number, const long (&a)[6]) {
  const auto out = [&](long address, const auto& value) {
    return run_.write(static_cast<std::uint64_t>(address), &value, sizeof value) == sizeof value ? 0L : long{-EFAULT};
  };
  switch (number) {
    case SYS_clock_gettime: {
      if (a[0] < 0 || a[0] > CLOCK_TAI) return std::nullopt;
      return out(a[1], timespec_of(shown_by(static_cast<clockid_t>(a[0]), clock_.look())));
    }
    case SYS_gettimeofday: {
      const TwoWords now = timespec_of(shown_by(CLOCK_REALTIME, clock_.look()));
      return a[0] == 0 ? 0 : out(a[0], TwoWords{now[0], now[1] / 1000});
    }
    case SYS_time: {
      const std::int64_t value = shown_by(CLOCK_REALTIME, clock_.look()) / kBillion;
      if (a[0] != 0 && out(a[0], value) != 0) return -EFAULT;
      return value;
    }
    case SYS_read:
    case SYS_pread64:
      if (!is_random_device(a[0])) return std::nullopt;
      return write_random(static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2]));
    case SYS_readv: {
      if (!is_random_device(a[0])) return std::nullopt;
      long sum = 0;
      for (long i = 0; i < a[2]; ++i) {
        const auto piece =
            read_guest_value<iovec>(static_cast<std::uint64_t>(a[1]) + sizeof(iovec) * static_cast<std::uint64_t>(i));
        const long wrote =
            !piece ? -EFAULT : write_random(reinterpret_cast<std::uint64_t>(piece->iov_base), piece->iov_len);
        if (wrote < 0) return sum == 0 ? wrote : sum;
        sum += wrote;
      }
      return sum;
    }
    case SYS_times: {
      constexpr std::array<std::byte, sizeof(tms)> kNothing{};
      if (a[0] != 0 && out(a[0], kNothing) != 0) return -EFAULT;
      return static_cast<long>(clock_.look() / 10'000'000);
    }
    case SYS_getcpu: {
      constexpr std::uint32_t kFirst = 0;
      if (a[0] != 0) out(a[0], kFirst);
      if (a[1] != 0) out(a[1], kFirst);
      return 0;
    }
    default: return std::nullopt;
  }
}

}  // namespace zs::engine
