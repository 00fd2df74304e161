#include "cli/record/sampled_events.h"

#include <fstream>

#include "arch/events/tables.h"
#include "base/number.h"
#include "cli/record/record_options.h"
#include "profile/perf_data/event_attr.h"
#include "session/sample.h"

namespace zs::cli {

std::string cpu_id(const arch::CpuModel& model) {
  const arch::Identity identity = arch::identity(model);
  return std::string(arch::vendor_name(model)) + "," + std::to_string(identity.family) + "," +
         std::to_string(identity.model) + "," + std::to_string(identity.stepping);
}

std::optional<Error> notice_of_every_second(const session::EventSpec& event, const arch::CpuModel& model) {
  if (event.kind != session::EventKind::Hardware || event.precise == 0 || event.period != 1 || event.frequency != 0)
    return std::nullopt;
  const arch::Event* const row = arch::find_event(model, arch::PerfEvtSel{event.select});
  if (event.precise_distribution || row == nullptr || row->meaning == nullptr) return std::nullopt;
  const bool at_overflow = row->precise == arch::Precise::No ? model.pebs_of_any_event : !model.exact_counters.empty();
  if (at_overflow) return std::nullopt;
  const std::string plain = event.name.substr(0, event.name.rfind(':'));
  return Error{event.name + " -c 1: every second one is sampled; an overflow arms PEBS, which records the next",
               "-e " + plain + " -c 1 samples each, at the instruction behind it"};
}

std::uint8_t precise_ip_of(const session::EventSpec& event, session::Skid skid) {
  if (skid == session::Skid::Armed) return 2;
  if (skid == session::Skid::Precise) return 3;
  return event.precise;
}

Result<void> see_both_rings(const EventSelection& selection, std::vector<session::EventSpec>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    using arch::PerfEvtSel;
    if (events[i].kind != session::EventKind::Hardware || events[i].latency_threshold != 0)
      return Error{events[i].name + ": is not recorded from outside the guest", "perf record in the guest does it"};
    events[i].select = PerfEvtSel{events[i].select}
                           .with(PerfEvtSel::user, selection.parsed[i].user)
                           .with(PerfEvtSel::kernel, selection.parsed[i].kernel)
                           .raw();
  }
  return {};
}

std::string class_of(const session::EventSpec& event, const session::RecordingConfig& config) {
  if (config.is_estimated(event)) return "estimated";
  if (event.detail != session::Detail::Exact) return "modelled";
  if (!event.has_address || config.detail == session::Detail::Exact) return "exact";
  return config.in_units ? "exact, its data sources modelled in units" : "exact, its data sources modelled";
}

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

Result<std::uint64_t> parse_frequency(const std::string& text) {
  std::uint64_t frequency = 0;
  if (text == "max") {
    constexpr std::uint64_t kUsualMost = 100'000;  // of the kernel
    std::ifstream file("/proc/sys/kernel/perf_event_max_sample_rate");
    return file >> frequency && frequency != 0 ? frequency : kUsualMost;
  }
  frequency = whole_number<std::uint64_t>(text).value_or(0);
  if (frequency == 0) return Error{"-F " + text + ": neither a whole number from 1 up nor max", "-F 4000"};
  return frequency;
}

}  // namespace zs::cli
