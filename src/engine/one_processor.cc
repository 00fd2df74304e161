#include "engine/one_processor.h"

#include "engine/raw_syscall.h"
#include "engine/thread.h"

namespace zs::engine {
namespace {

/// Chosen: 30 milliseconds of turns that are a quarter of a million instructions, and a hundredth of what waking costs
/// otherwise.
constexpr std::uint32_t kTurnsUntilPlacedAnew = 512;

cpu_set_t only(std::int32_t processor) {
  cpu_set_t set{};
  CPU_SET(processor, &set);
  return set;
}

}  // namespace

void OneProcessor::follow(const Thread& before, Thread& next) {
  if (!may_hold_) return;
  if (++turns_ % kTurnsUntilPlacedAnew == 0) return let_go(next);
  std::int32_t processor = before.held_to.processor;
  if (processor < 0 && is_error(raw_syscall(SYS_getcpu, &processor, nullptr, nullptr))) return;
  if (processor < CPU_SETSIZE) hold(next, processor);
}

void OneProcessor::hold(Thread& thread, std::int32_t processor) {
  HeldTo& held = thread.held_to;
  // A thread that has not begun yet has no id.
  if (held.processor == processor || thread.id.tid == 0) return;
  if (held.processor < 0) {
    held.allowed = {};
    if (is_error(raw_syscall(SYS_sched_getaffinity, thread.id.tid, sizeof held.allowed, &held.allowed))) {
      may_hold_ = false;  // more processors than there is room for
      return;
    }
  }
  if (!CPU_ISSET(processor, &held.allowed)) return let_go(thread);
  const cpu_set_t one = only(processor);
  if (is_error(raw_syscall(SYS_sched_setaffinity, thread.id.tid, sizeof one, &one))) {
    may_hold_ = false;
    return let_go(thread);
  }
  held.processor = processor;
}

void OneProcessor::let_go(Thread& thread) {
  HeldTo& held = thread.held_to;
  if (held.processor < 0) return;
  const cpu_set_t one = only(held.processor);
  held.processor = -1;
  // Somebody else may have chosen for it meanwhile.
  cpu_set_t now{};
  if (is_error(raw_syscall(SYS_sched_getaffinity, thread.id.tid, sizeof now, &now)) || !CPU_EQUAL(&now, &one)) return;
  raw_syscall(SYS_sched_setaffinity, thread.id.tid, sizeof held.allowed, &held.allowed);
}

}  // namespace zs::engine
