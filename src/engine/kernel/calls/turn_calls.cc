#include "engine/kernel/calls/turn_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/kernel/calls/call_commands.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/kernel/virtual_time/virtual_clock.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Whether a call on the descriptor may wait: not if it is a file, or was opened so.
struct Waiting {
  explicit Waiting(long fd) {
    struct stat about {};
    const long flags = raw_syscall(SYS_fcntl, fd, F_GETFL);
    if (is_error(flags) || raw_syscall(SYS_fstat, fd, &about) != 0) return;
    waits = (flags & O_NONBLOCK) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode) && !S_ISBLK(about.st_mode);
    fifo = S_ISFIFO(about.st_mode);
  }
  bool waits = false, fifo = false;
};

/// Of SYS_writev and SYS_sendmsg roughly: whether it is so few bytes that a ready descriptor takes them.
bool is_short(const CallArguments& made) {
  const auto& [number, a] = made;
  if (number == SYS_write || number == SYS_sendto) return static_cast<std::uint64_t>(a[2]) <= PIPE_BUF;
  if (number != SYS_writev) return true;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(a[2]) && sum <= PIPE_BUF; ++i) {
    const auto piece = read_guest_value<iovec>(static_cast<std::uint64_t>(a[1]) + i * sizeof(iovec));
    if (!piece) break;
    sum += piece->iov_len;
  }
  return sum <= PIPE_BUF;
}

/// In milliseconds; below 0: none.
std::int64_t limit_of_poll(const TimeLimit& limit, const CallArguments& made) {
  const long given_as = made.a[limit.argument];
  if (limit.unit == TimeUnit::Milliseconds) return static_cast<std::int32_t>(given_as);
  const auto given = read_guest_value<TwoWords>(static_cast<std::uint64_t>(given_as));
  if (given_as == 0 || !given) return -1;
  const std::int64_t per_millisecond = limit.unit == TimeUnit::Timeval ? 1000 : 1'000'000;
  return (*given)[0] * 1000 + ((*given)[1] + per_millisecond - 1) / per_millisecond;
}

std::int64_t now_ms() { return host_time(CLOCK_MONOTONIC) / 1'000'000; }

/// What select was asked, which it overwrites with the answer.
class FdSets {
 public:
  static constexpr long kMost = 8192;
  explicit FdSets(const CallArguments& made) {
    const auto& [number, a] = made;
    if (number != SYS_select && number != SYS_pselect6) return;
    bytes_ = static_cast<std::size_t>(std::clamp(a[0], 0L, kMost) + 63) / 64 * 8;
    for (std::size_t i = 0; i < 3; ++i) {
      places_[i] = static_cast<std::uint64_t>(a[i + 1]);
      if (places_[i] != 0) read_guest(places_[i], asked_[i].data(), bytes_);
    }
  }
  void give_back() const {
    for (std::size_t i = 0; i < 3; ++i) {
      if (places_[i] != 0) write_guest(places_[i], asked_[i].data(), bytes_);
    }
  }

 private:
  std::size_t bytes_ = 0;
  std::uint64_t places_[3] = {};
  std::array<std::byte, kMost / 8> asked_[3];
};

long kernel_call(const Thread& thread, const CallArguments& made) {
  return zs_interruptible_syscall(made.number, made.a, &thread.pending);
}

/// Of a wait that a signal ended: the handler runs, and then the call again, if it asked for that.
long interrupted(const Thread& thread, bool restarts) {
  const std::uint32_t pending = thread.pending.load(std::memory_order_acquire);
  const KernelSigaction& action = (*thread.process->actions)[thread.pending_signal];
  const bool handled = (pending & kSlotFull) != 0 && action.handler > 1;
  return handled && !(restarts && (action.flags & SA_RESTART) != 0) ? -EINTR : kInterruptedBeforeStart;
}

}  // namespace

// The others run. false: a signal waits.
bool TurnCalls::idles(Thread& thread) {
  if (thread.pending.load(std::memory_order_acquire) != 0) return false;
  turns_.pass(thread.process->seat, true);
  return true;
}

// false: a signal came first.
bool TurnCalls::await_ready(Thread& thread, long fd, short events) {
  pollfd ready{.fd = static_cast<int>(fd), .events = events, .revents = 0};
  while (raw_syscall(SYS_poll, &ready, 1, 0) == 0) {
    if (!idles(thread)) return false;
  }
  turns_.going_on(thread.process->seat);
  return true;
}

long TurnCalls::call_outside(Thread& thread, const CallArguments& made) {
  const int seat = thread.process->seat;
  turns_.leave(seat);
  const long result = kernel_call(thread, made);
  turns_.come_back(seat);
  return result;
}

long TurnCalls::read(Thread& thread, const CallArguments& made) {
  if (Waiting(made.a[0]).waits && !await_ready(thread, made.a[0], POLLIN)) return interrupted(thread, true);
  return kernel_call(thread, made);
}

long TurnCalls::write(Thread& thread, const CallArguments& made) {
  const auto& [number, a] = made;
  const Waiting to(a[0]);
  if (!to.waits) return kernel_call(thread, made);
  if (number == SYS_write && to.fifo && a[2] > 0) {
    long done = 0;
    while (done < a[2]) {
      if (!await_ready(thread, a[0], POLLOUT)) return done != 0 ? done : interrupted(thread, true);
      const long piece[6] = {a[0], a[1] + done, std::min<long>(a[2] - done, PIPE_BUF), 0, 0, 0};
      const long result = zs_interruptible_syscall(SYS_write, piece, &thread.pending);
      if (is_error(result)) return done != 0 ? done : result;
      done += result;
    }
    return done;
  }
  if (!is_short(made)) return call_outside(thread, made);
  if (!await_ready(thread, a[0], POLLOUT)) return interrupted(thread, true);
  return kernel_call(thread, made);
}

long TurnCalls::wait_for_child(Thread& thread, const CallArguments& made) {
  const auto& [number, a] = made;
  long tried[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  siginfo_t info{};
  tried[call_of(number).never_waits.argument] |= WNOHANG;
  if (number == SYS_waitid) tried[2] = reinterpret_cast<long>(&info);
  for (;;) {
    const long result = raw_syscall(number, tried[0], tried[1], tried[2], tried[3], tried[4]);
    const bool none = result == 0 && (number == SYS_wait4 || info.si_pid == 0);
    if (!none) {
      turns_.going_on(thread.process->seat);
      constexpr std::size_t kWritten = offsetof(siginfo_t, si_status) + sizeof info.si_status;
      if (number == SYS_waitid && result == 0 && a[2] != 0 && memory_.write(made.u(2), &info, kWritten) != kWritten)
        return -EFAULT;
      return result;
    }
    if (!idles(thread)) return interrupted(thread, true);
  }
}

// With a limit of 0 all these look, and take a signal that their own mask lets through; but for epoll_pwait, which
// leaves it waiting then.
long TurnCalls::poll(Thread& thread, const CallArguments& made) {
  const auto& [number, a] = made;
  const bool selects = number == SYS_select || number == SYS_pselect6;
  if ((number == SYS_epoll_pwait && a[4] != 0) || (selects && a[0] > FdSets::kMost)) return call_outside(thread, made);
  const TimeLimit& call = call_of(number).limit;
  const std::int64_t limit = limit_of_poll(call, made);
  FdSets sets(made);
  TwoWords at_once{};
  long tried[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  const bool in_milliseconds = call.unit == TimeUnit::Milliseconds;
  tried[call.argument] = in_milliseconds ? 0 : reinterpret_cast<long>(at_once.data());
  const std::int64_t end = limit < 0 ? INT64_MAX : now_ms() + limit;
  for (bool first = true;; first = false) {
    const long result = zs_interruptible_syscall(number, tried, &thread.pending);
    if (result != 0) {
      turns_.going_on(thread.process->seat);
      return result == kInterruptedBeforeStart && !first ? interrupted(thread, false) : result;
    }
    const bool over = now_ms() >= end;
    // Who asks again and again waits for others, too.
    if (!over || limit == 0) turns_.pass(thread.process->seat, true);
    if (over) return 0;
    sets.give_back();
    at_once = {};
  }
}

// With a limit of 0, ppoll does what sigsuspend does, but for the waiting.
long TurnCalls::suspend(Thread& thread, const CallArguments& made) {
  for (;;) {
    TwoWords limit{};
    const long look[6] = {0, 0, reinterpret_cast<long>(limit.data()), made.a[0], made.a[1], 0};
    const long result = zs_interruptible_syscall(SYS_ppoll, look, &thread.pending);
    if (result != 0) {
      turns_.going_on(thread.process->seat);
      return result;
    }
    turns_.pass(thread.process->seat, true);
  }
}

// It computes, and calls nobody. Others can wait, unless it waits for them with its eyes on memory, and that may take
// its time: where a block ends that is the last of a turn depends on what is counted, where a call is made does not.
void TurnCalls::compute(Thread& thread) {
  constexpr std::uint32_t kManyTurns = 200,
                          kManyModelled = 10'000;  // half a second or so; those of a modelled core are short
  Process& process = *thread.process;
  if (process.seat == 0 || ++process.turns < (counting_.models ? kManyModelled : kManyTurns)) return;
  process.turns = 0;
  turns_.pass(process.seat, false);
}

long TurnCalls::call(Thread& thread, const CallArguments& made) {
  Process& process = *thread.process;
  if (process.seat == 0 || !turns_.shared()) return kernel_call(thread, made);
  process.turns = 0;
  constexpr std::uint32_t kManyCalls = 2000;  // a process may wait by looking again and again
  if (turns_.wanted() && ++process.calls >= kManyCalls) {
    process.calls = 0;
    turns_.pass(process.seat, false);
  }
  switch (waits_for(made)) {
    case Waits::Input: return read(thread, made);
    case Waits::Output: return write(thread, made);
    case Waits::Child: return wait_for_child(thread, made);
    case Waits::Poll: return poll(thread, made);
    case Waits::Suspend: return suspend(thread, made);
    case Waits::Elsewhere: return call_outside(thread, made);
    case Waits::Never: break;
  }
  return kernel_call(thread, made);
}

}  // namespace zs::engine
