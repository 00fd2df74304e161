// From what people type after -e to what a recording is configured with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "events/event_parser.h"
#include "session/settings/config.h"

namespace zs::cli {

struct EventGroup {
  std::uint32_t leader = 0, members = 0;  // index of the first event; how many
};

struct EventSelection {
  std::vector<session::EventSpec> events;
  std::vector<EventGroup> groups;            // only those written with braces
  std::vector<session::ParsedEvent> parsed;  // by event
};

/// How events sample for which the list itself does not say.
struct SamplingDefaults {
  bool sample = false;          // false: events are only counted, and periods in the list are refused
  std::uint64_t period = 0;     // -c; 0: by frequency
  std::uint64_t frequency = 0;  // -F
  bool ring_0 = false;          // a kernel is sampled, too
};

/// lists  each an argument of -e
Result<EventSelection> select_events(const std::vector<std::string>& lists, const arch::CpuModel& model,
                                     const SamplingDefaults& sampling);

/// Index of an event that counts every instruction, or -1.
int instruction_event(const EventSelection& selection);

/// What was asked for, and with which option, for messages.
struct CpuChoice {
  std::string name{arch::kDefaultCpuModel};
  std::string option = "--cpu";
};

/// The CPU model of that name, or of this machine's processor for "host". An unknown name is told with the known ones.
Result<const arch::CpuModel*> choose_cpu_model(const CpuChoice& choice);

}  // namespace zs::cli
