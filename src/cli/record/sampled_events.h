// What is said of the events that a recording samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "cli/events/event_selection.h"
#include "session/settings/config.h"

namespace zs::cli {

struct RecordOptions;

/// As perf names processors: vendor, family, model, stepping.
std::string cpu_id(const arch::CpuModel& model);

/// An overflow arms PEBS and the next occurrence is recorded, so a period of 1 gives every second one (the arming
/// rule).
std::optional<Error> notice_of_every_second(const session::EventSpec& event, const arch::CpuModel& model);

/// As perf would have asked for such samples.
std::uint8_t precise_ip_of(const session::EventSpec& event, session::Skid skid);

/// Where the kernel is seen, an event counts the rings that it says, or both.
Result<void> see_both_rings(const EventSelection& selection, std::vector<session::EventSpec>& events);

/// What its numbers are worth: how many, and what a sample says of its data.
std::string class_of(const session::EventSpec& event, const session::RecordingConfig& config);

/// Of an exact profile: how often each instruction ran, and each branch was taken; with contexts, how many instructions
/// ran in each.
void choose_profile_events(RecordOptions& out);

/// perf's `max` is what the kernel allows on this machine.
Result<std::uint64_t> parse_frequency(const std::string& text);

}  // namespace zs::cli
