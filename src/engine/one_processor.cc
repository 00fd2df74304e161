#include "engine/one_processor.h"

#include "engine/raw_syscall.h"
#include "engine/thread.h"

namespace zs::engine {
namespace {

/// Chosen: 30 milliseconds of turns that are a quarter of a million instructions, and a hundredth of what waking costs otherwise.
constexpr std::uint32_t kTurnsUntilPlacedAnew = 512;

HeldTo::Set only(std::uint32_t processor) {
  HeldTo::Set set{};
  set[processor / 64] = std::uint64_t{1} << processor % 64;
  return set;
}

bool is_refused(long result) { return result < 0; }

}  // namespace

void OneProcessor::follow(const Thread& before, Thread& next) {
  if (!may_hold_) return;
  if (++turns_ % kTurnsUntilPlacedAnew == 0) return let_go(next);
  auto processor = static_cast<std::uint32_t>(before.held_to.processor);
  if (before.held_to.processor < 0 && is_refused(raw_syscall(SYS_getcpu, &processor, nullptr, nullptr))) return;
  if (processor < HeldTo::kMostProcessors) hold(next, processor);
}

void OneProcessor::hold(Thread& thread, std::uint32_t processor) {
  HeldTo& held = thread.held_to;
  // A thread that has not begun yet has no id.
  if (held.processor == static_cast<std::int32_t>(processor) || thread.id.tid == 0) return;
  if (held.processor < 0) {
    held.allowed = {};
    if (is_refused(raw_syscall(SYS_sched_getaffinity, thread.id.tid, sizeof held.allowed, held.allowed.data()))) {
      may_hold_ = false;  // more processors than there is room for
      return;
    }
  }
  const HeldTo::Set one = only(processor);
  if ((held.allowed[processor / 64] & one[processor / 64]) == 0) return let_go(thread);
  if (is_refused(raw_syscall(SYS_sched_setaffinity, thread.id.tid, sizeof one, one.data()))) {
    may_hold_ = false;
    return let_go(thread);
  }
  held.processor = static_cast<std::int32_t>(processor);
}

void OneProcessor::let_go(Thread& thread) {
  HeldTo& held = thread.held_to;
  if (held.processor < 0) return;
  const HeldTo::Set one = only(static_cast<std::uint32_t>(held.processor));
  held.processor = -1;
  // Somebody else may have chosen for it meanwhile.
  HeldTo::Set now{};
  const long size = raw_syscall(SYS_sched_getaffinity, thread.id.tid, sizeof now, now.data());
  if (is_refused(size) || now != one) return;
  raw_syscall(SYS_sched_setaffinity, thread.id.tid, sizeof held.allowed, held.allowed.data());
}

}  // namespace zs::engine
