#include "engine/kernel/threads/futexes.h"

#include <linux/futex.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/kernel/threads/syscall_window.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::uint32_t kAnyBit = FUTEX_BITSET_MATCH_ANY, kNobody = 0;
/// How long a turn takes under --virtual-time: the quantum of counted instructions, a nanosecond each, as for the times
/// of samples.
constexpr std::uint64_t kTurnNanoseconds = 262144;

/// What FUTEX_WAKE_OP does to the second word, packed into its last argument.
/// source: futex(2), "FUTEX_WAKE_OP"; Linux, futex_atomic_op_inuser() for what it does not say.
struct WakeOperation {
  explicit WakeOperation(std::uint32_t packed)
      : operation(packed >> 28 & 7),
        comparison(packed >> 24 & 15),
        operand(static_cast<std::int32_t>(packed << 8) >> 20),
        compared(static_cast<std::int32_t>(packed << 20) >> 20) {
    if ((packed >> 31) != 0) operand = std::int32_t{1} << (operand & 31);
  }
  bool changes() const { return operation <= FUTEX_OP_XOR; }
  bool compares() const { return comparison <= FUTEX_OP_CMP_GE; }
  std::uint32_t apply(std::uint32_t word) const {
    const auto by = static_cast<std::uint32_t>(operand);
    switch (operation) {
      case FUTEX_OP_SET: return by;
      case FUTEX_OP_ADD: return word + by;
      case FUTEX_OP_OR: return word | by;
      case FUTEX_OP_ANDN: return word & ~by;
      default: return word ^ by;
    }
  }
  bool holds(std::uint32_t word) const {
    const auto value = static_cast<std::int32_t>(word);
    switch (comparison) {
      case FUTEX_OP_CMP_EQ: return value == compared;
      case FUTEX_OP_CMP_NE: return value != compared;
      case FUTEX_OP_CMP_LT: return value < compared;
      case FUTEX_OP_CMP_LE: return value <= compared;
      case FUTEX_OP_CMP_GT: return value > compared;
      default: return value >= compared;
    }
  }
  std::uint32_t operation, comparison;
  std::int32_t operand, compared;
};

bool aligned(std::uint64_t address) { return address % sizeof(std::uint32_t) == 0; }

}  // namespace

void Futexes::goes_on(Thread& thread) {
  core_.runs_after_this(thread);
  threads_.lock.give_place(thread);
}

std::uint32_t Futexes::wake_at(FutexWaiters::Key key, std::uint32_t most, std::uint32_t bits) {
  return waiters_.wake(key, most, bits, [this](Thread& woken) { goes_on(woken); });
}

void Futexes::clear_word_of(Thread& thread) {
  if (thread.clear_at == 0) return;
  raw_syscall(SYS_set_tid_address, 0);
  constexpr std::uint32_t kGone = 0;
  if (memory_.write(thread.clear_at, &kGone, sizeof kGone) == sizeof kGone) wake_shared(thread.clear_at, 1, kAnyBit);
}

// Also those who wait in the kernel: other processes, and who came before the word was one of a thread's.
long Futexes::wake_shared(std::uint64_t address, std::uint32_t most, std::uint32_t bits) {
  const std::uint32_t woken = wake_at({.address = address, .shared = true}, most, bits);
  if (woken == most) return woken;
  const long others = raw_syscall(SYS_futex, address, FUTEX_WAKE_BITSET, most - woken, nullptr, nullptr, bits);
  return woken == 0 || !is_error(others) ? woken + others : woken;
}

bool Futexes::is_ours(std::uint64_t address, bool shared) const {
  return !shared ||
         std::ranges::any_of(threads_.threads, [&](const auto& thread) { return thread->clear_at == address; });
}

std::optional<long> Futexes::call(const long (&a)[6]) {
  const auto u32 = [&](int i) { return static_cast<std::uint32_t>(a[i]); };
  const auto address = static_cast<std::uint64_t>(a[0]);
  const bool shared = (a[1] & FUTEX_PRIVATE_FLAG) == 0;
  const long operation = a[1] & FUTEX_CMD_MASK;
  const bool wakes = operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET;
  if (threads_.threads.size() == 1 || (!wakes && !is_ours(address, shared))) return std::nullopt;
  const FutexWaiters::Key key{.address = address, .shared = shared};
  switch (operation) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: return wait_at(key, a);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
      const std::uint32_t bits = operation == FUTEX_WAKE_BITSET ? u32(5) : kAnyBit;
      if (!aligned(address) || bits == 0) return -EINVAL;
      // Of fewer than one, the kernel wakes one.
      const std::uint32_t most = std::max<std::int32_t>(static_cast<std::int32_t>(a[2]), 1);
      return shared ? wake_shared(address, most, bits) : wake_at(key, most, bits);
    }
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE: {
      const FutexWaiters::Key to{.address = static_cast<std::uint64_t>(a[4]), .shared = shared};
      const auto most_woken = static_cast<std::int32_t>(a[2]), most_moved = static_cast<std::int32_t>(a[3]);
      if (!aligned(address) || !aligned(to.address) || most_woken < 0 || most_moved < 0) return -EINVAL;
      const auto now = read_guest_value<std::uint32_t>(address);
      if (!now) return -EFAULT;
      const bool compares = operation == FUTEX_CMP_REQUEUE;
      if (compares && *now != u32(5)) return -EAGAIN;
      const std::uint32_t woken = wake_at(key, static_cast<std::uint32_t>(most_woken), kAnyBit);
      const std::uint32_t moved = waiters_.move(key, to, static_cast<std::uint32_t>(most_moved));
      return compares ? woken + moved : woken;
    }
    case FUTEX_WAKE_OP: {
      const auto second = static_cast<std::uint64_t>(a[4]);
      const WakeOperation change(u32(5));
      if (!aligned(address) || !aligned(second)) return -EINVAL;
      const auto before = read_guest_value<std::uint32_t>(second);
      // A shared word is looked for before anything else.
      if (!change.changes() && (before || !shared)) return -ENOSYS;
      if (!before) return -EFAULT;
      const std::uint32_t after = change.apply(*before);
      if (memory_.write(second, &after, sizeof after) != sizeof after) return -EFAULT;
      if (!change.compares()) return -ENOSYS;  // the word is changed by then
      std::uint32_t woken = wake_at(key, std::max<std::int32_t>(static_cast<std::int32_t>(a[2]), 1), kAnyBit);
      if (change.holds(*before)) {
        woken += wake_at({.address = second, .shared = shared},
                         std::max<std::int32_t>(static_cast<std::int32_t>(a[3]), 1), kAnyBit);
      }
      return woken;
    }
    default: return std::nullopt;
  }
}

long Futexes::wait_at(FutexWaiters::Key key, const long (&a)[6]) {
  const bool bitset = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  const std::uint32_t bits = bitset ? static_cast<std::uint32_t>(a[5]) : kAnyBit;
  if (!aligned(key.address) || bits == 0) return -EINVAL;
  TwoWords timeout{};
  if (a[3] != 0) {
    const auto given = read_guest_value<TwoWords>(static_cast<std::uint64_t>(a[3]));
    if (!given) return -EFAULT;
    timeout = *given;
    if (!is_timespec(timeout)) return -EINVAL;
  }
  const auto now = read_guest_value<std::uint32_t>(key.address);
  if (!now) return -EFAULT;
  if (*now != static_cast<std::uint32_t>(a[2])) return -EAGAIN;

  if (threads_.thread->limit_of_wait >= 0) return wait_for_limit(key, bits);
  return wait(key, bits, FutexWaiters::kForEver, a[1] & (FUTEX_CMD_MASK | FUTEX_CLOCK_REALTIME),
              a[3] == 0 ? nullptr : &timeout);
}

// With --virtual-time, as long as Thread::limit_of_wait says.
long Futexes::wait_for_limit(FutexWaiters::Key key, std::uint32_t bits) {
  const TwoWords timeout = timespec_of(threads_.thread->limit_of_wait);
  return wait(key, bits, turns_until_limit(), FUTEX_WAIT, &timeout);
}

// How many will have ended then; without a limit that is never.
std::uint64_t Futexes::turns_until_limit() const {
  const std::int64_t limit = threads_.thread->limit_of_wait;
  return limit < 0 ? FutexWaiters::kForEver : turns_ended_ + static_cast<std::uint64_t>(limit) / kTurnNanoseconds + 1;
}

std::optional<long> Futexes::sleep(std::uint64_t left) {
  const std::int64_t limit = threads_.thread->limit_of_wait;
  if (limit < 0 || threads_.threads.size() == 1) return std::nullopt;
  const std::uint64_t began = turns_ended_;
  const long result = wait_for_limit({}, kNobody);
  if (result == -ETIMEDOUT) return 0;
  if (result == -EINTR && left != 0) {
    const std::int64_t slept = static_cast<std::int64_t>((turns_ended_ - began) * kTurnNanoseconds);
    const TwoWords told = timespec_of(std::max<std::int64_t>(limit - slept, 0));
    if (memory_.write(left, told.data(), sizeof told) != sizeof told) return -EFAULT;
  }
  return result;
}

// Lets the others run until somebody wakes this thread, until turns_ended_ is `until`, or until the host's clock is at
// `timeout` (null: for ever), as `operation` reads it.
long Futexes::wait(FutexWaiters::Key key, std::uint32_t bits, std::uint64_t until, long operation,
                   const TwoWords* timeout) {
  Thread& thread = *threads_.thread;
  threads_.observer().flush(threads_.ids.shown(thread.id));
  waiters_.add(thread, key, bits, until);
  thread.may_run.store(0);
  turns_.give_up_to_wait();
  const long result = sleep_until_turn(thread, SYS_futex,
                                       {reinterpret_cast<long>(&thread.may_run), operation | FUTEX_PRIVATE_FLAG, 0,
                                        reinterpret_cast<long>(timeout), 0, static_cast<long>(kAnyBit)});
  turns_.come_back(thread);
  if (!waiters_.remove(thread)) return waiters_.take_expired(thread) ? -ETIMEDOUT : 0;
  return result == -EAGAIN ? 0 : result;
}

// This thread's own variables only, until the lock is back. Its turn ends the wait, as would a change of the word.
long Futexes::sleep_until_turn(Thread& thread, long number, const long (&a)[6]) {
  // With --virtual-time the host's clock ends a wait only where nobody computes, so that nothing else can
  // (turn_ended()).
  const auto others_compute = [this] { return threads_.lock.owner() != nullptr || threads_.lock.contended(); };
  while (true) {
    const long result = zs_interruptible_syscall(number, a, &thread.pending);
    if (thread.may_run.load() != 0) return result;
    if (result == 0) continue;  // nobody changed the word: the kernel may wake without a reason
    if (result != -ETIMEDOUT || !settings_.virtual_time || !others_compute()) return result;
  }
}

// The end of a turn is a place in the program, so waits whose limit has passed end here.
void Futexes::turn_ended() {
  ++turns_ended_;
  waiters_.expire(turns_ended_, [this](Thread& thread) { goes_on(thread); });
}

}  // namespace zs::engine
