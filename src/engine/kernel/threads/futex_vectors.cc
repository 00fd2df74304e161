// The futex calls that came after futex(2). Of futex_waitv, a wait for the first of several words to be woken, those
// that the engine keeps are waited for here, the others in the kernel, together with the thread's turn. futex_wake,
// futex_wait and futex_requeue (Linux 6.7) say what operations of futex(2) say.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "engine/kernel/threads/futexes.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// source: Linux, uapi/linux/futex.h, struct futex_waitv
struct AwaitedWord {
  static constexpr std::uint32_t k32Bits = 2, kPrivate = 128;
  std::uint64_t value, address;
  std::uint32_t flags, reserved;

  bool shared() const { return (flags & kPrivate) == 0; }
  bool is_known() const {
    return (flags & ~kPrivate) == k32Bits && reserved == 0 && value <= UINT32_MAX &&
           address % sizeof(std::uint32_t) == 0;
  }
};

/// 0, or why nobody waits.
long compare(const GuestMemory& memory, const std::vector<AwaitedWord>& words) {
  for (const AwaitedWord& word : words) {
    const auto now = memory.value_at<std::uint32_t>(word.address);
    if (!now) return -EFAULT;
    if (*now != word.value) return -EAGAIN;
  }
  return 0;
}

/// The highest of `all` that is not in `left`; -1: there is none.
long highest_missing(const std::vector<unsigned>& all, const std::vector<unsigned>& left) {
  long found = -1;
  for (const unsigned index : all) {
    if (std::ranges::find(left, index) == left.end()) found = std::max(found, static_cast<long>(index));
  }
  return found;
}

/// As futex(2) has it; none: what the kernel alone knows, or says is wrong.
/// source: Linux 6.18, kernel/futex/syscalls.c
std::optional<std::array<long, 6>> as_futex(const GuestMemory& memory, const CallArguments& made) {
  const auto& a = made.a;
  const auto operation = [](std::uint64_t flags, int number) {
    return static_cast<long>(number | (flags & AwaitedWord::kPrivate));
  };
  AwaitedWord words[2] = {};
  if (made.number == kFutexRequeue) {
    if (static_cast<std::uint32_t>(a[1]) != 0 || memory.read(made.u(0), words, sizeof words) != sizeof words ||
        !words[0].is_known() || !words[1].is_known() || words[0].flags != words[1].flags)
      return std::nullopt;
    return {{static_cast<long>(words[0].address), operation(words[0].flags, FUTEX_CMP_REQUEUE), a[2], a[3],
             static_cast<long>(words[1].address), static_cast<long>(words[0].value)}};
  }
  const bool waits = made.number == kFutexWait;
  words[0] = {.value = waits ? made.u(1) : 0, .address = made.u(0), .flags = static_cast<std::uint32_t>(a[3])};
  const std::uint64_t mask = made.u(waits ? 2 : 1);
  const bool is_time = a[4] == 0 || a[5] == CLOCK_REALTIME || a[5] == CLOCK_MONOTONIC;
  if (!words[0].is_known() || mask > UINT32_MAX || (waits ? !is_time : made.i32(2) == 0)) return std::nullopt;
  const int by_date = waits && a[4] != 0 && a[5] == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0;
  const int number = waits ? FUTEX_WAIT_BITSET | by_date : FUTEX_WAKE_BITSET;
  return {{a[0], operation(words[0].flags, number), waits ? a[1] : a[2], a[4], 0, static_cast<long>(mask)}};
}

}  // namespace

std::optional<long> Futexes::later_call(const CallArguments& made) {
  static const bool known = raw_syscall(kFutexWake, 0, 0, 0, UINT32_MAX) != -ENOSYS;
  const auto same = known ? as_futex(memory_, made) : std::nullopt;
  if (!same) return std::nullopt;
  long arguments[6];
  std::ranges::copy(*same, arguments);
  return call(arguments);
}

// What is wrong with the call the kernel says itself: it does not wait then.
std::optional<long> Futexes::wait_for_any(const long (&a)[6]) {
  constexpr std::uint64_t kMost = 128;  // FUTEX_WAITV_MAX
  const auto count = static_cast<std::uint64_t>(a[1]);
  Thread& thread = *threads_.thread;
  if (threads_.threads.size() == 1 || a[2] != 0 || count == 0 || count > kMost) return std::nullopt;
  std::vector<AwaitedWord> words(count);
  const std::size_t bytes = count * sizeof words[0];
  if (memory_.read(static_cast<std::uint64_t>(a[0]), words.data(), bytes) != bytes) return std::nullopt;
  TwoWords timeout{};
  const bool limited = a[3] != 0;
  if (limited) {
    const auto given = memory_.value_at<TwoWords>(static_cast<std::uint64_t>(a[3]));
    if (!given || !is_timespec(*given) || (a[4] != CLOCK_REALTIME && a[4] != CLOCK_MONOTONIC)) return std::nullopt;
    timeout = *given;
  }
  // The first of the kernel's says that the thread has its turn; it stands for all of ours.
  std::vector<AwaitedWord> kernels{{.value = 0,
                                    .address = reinterpret_cast<std::uint64_t>(&thread.may_run),
                                    .flags = AwaitedWord::k32Bits | AwaitedWord::kPrivate}};
  std::vector<unsigned> ours, theirs{0};
  for (unsigned i = 0; i < count; ++i) {
    if (!words[i].is_known()) return std::nullopt;
    if (is_ours(words[i].address, words[i].shared())) {
      ours.push_back(i);
    } else {
      theirs.push_back(i);
      kernels.push_back(words[i]);
    }
  }
  if (ours.empty()) return std::nullopt;

  while (true) {
    if (const long error = compare(memory_, words); error != 0) return error;
    threads_.observer().flush(threads_.ids.shown(thread.id));
    for (const unsigned i : ours) {
      waiters_.add(thread, {.address = words[i].address, .shared = words[i].shared()}, FUTEX_BITSET_MATCH_ANY,
                   turns_until_limit(), i);
    }
    thread.may_run.store(0);
    turns_.give_up_to_wait();
    const long result = sleep_until_turn(thread, SYS_futex_waitv,
                                         {reinterpret_cast<long>(kernels.data()), static_cast<long>(kernels.size()), 0,
                                          limited ? reinterpret_cast<long>(timeout.data()) : 0, a[4], 0});
    turns_.come_back(thread);
    const long woken = highest_missing(ours, waiters_.take(thread));
    if (waiters_.take_expired(thread)) return -ETIMEDOUT;
    const long by_kernel = result > 0 ? static_cast<long>(theirs[static_cast<std::size_t>(result)]) : -1;
    if (woken >= 0 || by_kernel >= 0) return std::max(woken, by_kernel);
    if (result < 0 && result != -EAGAIN) return result;
  }
}

}  // namespace zs::engine
