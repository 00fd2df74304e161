#include "cli/events/event_selection.h"

#include <algorithm>
#include <limits>

#include "arch/events/meanings.h"
#include "cli/command/say.h"
#include "cli/events/host_model.h"
#include "cli/events/pfm_names.h"
#include "session/driver/adaptive_period.h"
#include "session/driver/ibs_sampler.h"
#include "session/driver/pmu_driver.h"

namespace zs::cli {
namespace {

using session::EventKind;
using session::EventSpec;
using session::ParsedEvent;

/// About how many instructions there are to one event, in whatever a program does; 0: nobody knows, a loop may do
/// without a store.
std::uint64_t instructions_for_one(const ParsedEvent& event) {
  constexpr std::uint64_t kForABranch = 8, kForATickOfTheBus = 64;
  if (is_ibs(event.kind) || event.select.has(arch::PerfEvtSel::cmask) || event.select.has(arch::PerfEvtSel::edge))
    return 0;
  if (event.meaning == &arch::kBranches) return kForABranch;
  if (event.tick == arch::Tick::Bus) return kForATickOfTheBus;
  return event.tick != arch::Tick::None || event.meaning == &arch::kInstructions ? 1 : 0;
}

Result<void> set_sampling(EventSpec& spec, const ParsedEvent& event, const SamplingDefaults& defaults,
                          const arch::CpuModel& model) {
  if (event.kind == EventKind::BranchTrace) return {};
  if (session::is_counted_by_kernel(event.kind)) {
    return Error{event.spelling + ": the kernel counts it, and no PMU can sample it", "zeroskid stat counts it"};
  }
  std::uint64_t frequency = 0;
  if (event.period) {
    spec.period = *event.period;
  } else if (event.frequency) {
    frequency = *event.frequency;
  } else if (defaults.period != 0) {
    spec.period = defaults.period;
  } else {
    frequency = defaults.frequency;
  }
  const bool by_period = frequency == 0;
  if (by_period && spec.period == 0) return Error{event.spelling + ": a period of 0 samples nothing", ""};
  if (is_ibs(event.kind) && by_period) {
    if (auto fits = session::check_ibs_period(event.spelling, event.kind, spec.period); !fits) return fits;
  }
  if (const std::uint64_t longest = session::longest_pebs_period(model); by_period && spec.period > longest) {
    return Error{event.spelling + ": period " + std::to_string(spec.period) + " is longer than a counter of " +
                     std::string(model.name) + " can hold",
                 "at most " + std::to_string(longest)};
  }
  if (frequency > std::numeric_limits<std::uint32_t>::max()) {
    return Error{event.spelling + ": " + std::to_string(frequency) + " samples per second are too many",
                 "-c 1 samples every event"};
  }
  spec.frequency = static_cast<std::uint32_t>(frequency);
  if (const std::uint64_t distance = instructions_for_one(event); !by_period && distance != 0)
    spec.period = session::AdaptivePeriod::first_of_frequent(frequency, distance);
  return {};
}

}  // namespace

Result<EventSelection> select_events(const std::vector<std::string>& lists, const arch::CpuModel& model,
                                     const SamplingDefaults& sampling) {
  EventSelection out;
  for (const std::string& list : lists) {
    auto groups = parse_events(list, model, sampling.ring_0);
    if (!groups) return groups.error();
    for (const session::EventGroup& group : *groups) {
      const auto leader = static_cast<std::uint32_t>(out.events.size());
      for (const ParsedEvent& event : group.events) {
        EventSpec spec{.name = event.name,
                       .kind = event.kind,
                       .select = event.select.raw(),
                       .counters = event.counters,
                       .precise_counters = event.precise_counters,
                       .precise = static_cast<std::uint8_t>(event.precise),
                       .precise_distribution = event.precise_distribution,
                       .has_address = event.has_address,
                       .detail = event.detail,
                       .latency_threshold = event.latency_threshold,
                       .leader = leader};
        if (event.kind == EventKind::BranchTrace && !sampling.sample)
          return Error{event.spelling + ": traces branches, and counts nothing",
                       "zeroskid record takes it; -e branches counts"};
        if (is_ibs(event.kind) && !sampling.sample)
          return Error{event.spelling + ": samples, and counts nothing",
                       std::string("zeroskid record takes it; -e ") +
                           (event.kind == EventKind::IbsOp ? "ex_ret_ops" : "ic_tag_hit_miss.instruction_cache_miss") +
                           " counts"};
        if (sampling.sample) {
          if (auto set = set_sampling(spec, event, sampling, model); !set) return set.error();
        }
        out.events.push_back(std::move(spec));
        out.parsed.push_back(event);
      }
      if (group.events.size() > 1) {
        out.groups.push_back({.leader = leader, .members = static_cast<std::uint32_t>(group.events.size())});
      }
    }
  }
  return out;
}

int instruction_event(const EventSelection& selection) {
  const auto at = std::ranges::find(selection.parsed, &arch::kInstructions, &ParsedEvent::meaning);
  return at == selection.parsed.end() ? -1 : static_cast<int>(at - selection.parsed.begin());
}

Result<const arch::CpuModel*> choose_cpu_model(const CpuChoice& choice) {
  if (choice.name == "host") {
    const auto host = model_of_host(host::ask_cpuid(), choice.option);
    if (!host) return host.error();
    if (!host->remark.empty()) say(host->remark);
    return host->model;
  }
  if (const arch::CpuModel* const model = arch::find_cpu_model(choice.name)) return model;
  return Error{choice.option + " " + choice.name + ": no such CPU model", known_models()};
}

}  // namespace zs::cli
