#include "session/driver/skid_replay.h"

#include <limits>
#include <span>
#include <utility>

#include "arch/records/perf_mem.h"
#include "base/bytes.h"
#include "base/check.h"

namespace zs::session {
namespace {

using arch::SkidCause;

void set_period(const SkidReplay::Overflow& of, std::uint64_t period) {
  const BankPlan& plan = of.driver->plan();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i] == of.counter) of.driver->set_period(i, period);
  }
}

}  // namespace

SkidReplay::SkidReplay(const RecordingConfig& config, const EventCounters& counters, std::uint64_t stream)
    : skid_(config.skid), late_(config, counters, stream) {
  CHECK(skid_ != Skid::None);
}

void SkidReplay::overflowed(const Overflow& overflow, std::uint64_t period) {
  if (skid_ == Skid::Precise) {
    ready_.push_back({.overflow = overflow, .ip = overflow.ip, .note = {.ip = overflow.ip}});
    return;
  }
  const auto [at, first] = waiting_.try_emplace(overflow.counter.event, Taken{.overflow = overflow});
  Taken& sample = at->second;
  if (first) sample.note.ip = overflow.ip;
  if (skid_ != Skid::Armed) {
    // The interrupt that is on its way is the one of this overflow, too.
    if (!first) sample.overflow.events += overflow.events;
    return;
  }
  if (first) {
    set_period(overflow, 1);  // each event is looked at until one is recorded
    return;
  }
  const std::uint64_t passed = overflow.position - sample.overflow.position;
  if (passed <= kShadow) {
    if (sample.note.hidden != std::numeric_limits<std::uint16_t>::max()) ++sample.note.hidden;
    return;
  }
  sample.ip = overflow.ip;
  sample.note.cause = SkidCause::Arming;
  sample.note.instructions = passed;
  ready_.push_back(sample);
  waiting_.erase(at);
  set_period(overflow, period);
}

const std::vector<SkidReplay::Taken>& SkidReplay::served(std::uint64_t position, std::uint64_t next_ip) {
  taken_ = std::exchange(ready_, {});
  if (!is_late_interrupt(skid_) || waiting_.empty() || !late_.comes_now()) return taken_;
  for (auto& [event, sample] : waiting_) {
    sample.ip = next_ip;
    sample.note.cause = SkidCause::Interrupt;
    sample.note.instructions = position - sample.overflow.position + 1;
    taken_.push_back(sample);
  }
  waiting_.clear();
  late_.served();
  return taken_;
}

void report_skid(const SkidReplay::Taken& taken, Sample& sample) {
  sample.ip = taken.ip;
  sample.exact_ip = taken.note.cause != SkidCause::Interrupt;
  sample.data_source = arch::perf_mem::kNothingKnown.bits;
  const Bytes note = std::as_bytes(std::span(&taken.note, 1));
  sample.raw.assign(note.begin(), note.end());
}

}  // namespace zs::session
