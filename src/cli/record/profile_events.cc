#include "cli/record/profile_events.h"

#include "profile/perf_data/event_attr.h"
#include "profile/perf_data/recording.h"
#include "session/sample.h"

namespace zs::cli {

void choose_profile_events(RecordOptions& out) {
  constexpr std::uint64_t kTakenBranches = 0x20C4;  // BR_INST_RETIRED.NEAR_TAKEN, for readers that know numbers alone
  const profile::EventDescription instructions{.name = "instructions:u",
                                               .type = static_cast<std::uint32_t>(profile::perf::EventType::Hardware),
                                               .config = 1,
                                               .period = 1,
                                               .precise_ip = 3};
  out.config.events = {{.name = "instructions:u", .kind = session::EventKind::RanInstructions, .period = 1},
                       {.name = "taken-branches:u", .kind = session::EventKind::RanBranches, .period = 1, .leader = 1}};
  out.description.events = {instructions,
                            {.name = "taken-branches:u", .config = kTakenBranches, .period = 1, .precise_ip = 3}};
  out.config.registers = false;
  out.description.interrupt_registers = 0;
  out.description.notes.push_back({profile::kExactProfile, "a sample's period is how often its instruction ran"});
  if (out.config.contexts == 0) return;
  out.description.events.push_back(instructions);
  out.description.events.back().name = "instructions-in-contexts:u";
  out.config.events.push_back({.name = "instructions-in-contexts:u",
                               .kind = session::EventKind::RanInContexts,
                               .period = 1,
                               .leader = session::kRanInContexts});
}

}  // namespace zs::cli
