// Which counter of which PMU counts which event of a recording. One thread has as many PMUs ("banks") as its events
// need: nothing is multiplexed, every event counts all the time. Real processors have one bank; that a recording needed
// more is said to the user.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arch/counter_set.h"
#include "arch/cpu_model.h"
#include "base/result.h"
#include "session/settings/config.h"

namespace zs::session {

/// One counter in use.
struct PlannedCounter {
  std::uint32_t event = 0;  // index into the recording's events
  unsigned counter = 0;     // its bit in IA32_PERF_GLOBAL_CTRL: n is PMCn, 32+i is FIXED_CTRi
  bool pebs = false;        // sampled through records, not at its overflow PMI

  bool is_fixed() const { return counter >= arch::kFirstFixedBit; }
  unsigned index() const { return is_fixed() ? counter - arch::kFirstFixedBit : counter; }
  bool operator==(const PlannedCounter&) const = default;
};

using BankPlan = std::vector<PlannedCounter>;  // by ascending counter

/// Software events have no place in it. A group stays in one bank if a bank can hold it.
/// returns an error if some event has no counter at all on this processor
Result<std::vector<BankPlan>> plan_banks(std::span<const EventSpec> events, const arch::CpuModel& model);

/// The configuration as it is recorded: adaptive periods, virtual time, units and a skid of samples need the threads'
/// progress, so an event that counts it is appended where it is needed: last, without samples, and not reported. So is
/// the skid event of samples.
RecordingConfig with_progress_event(RecordingConfig config);

/// Events of the configuration that the user asked for: those that counts are sent of.
std::size_t reported_events(const RecordingConfig& config);

}  // namespace zs::session
