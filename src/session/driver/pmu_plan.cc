#include "session/driver/pmu_plan.h"

#include <algorithm>

#include "arch/msrs.h"
#include "session/driver/core_choice.h"

namespace zs::session {
namespace {

constexpr const char* kProgressEvent = "(progress)";
constexpr const char* kSkidEvent = "(skid)";

void append_instructions(const char* name, RecordingConfig& config) {
  constexpr std::uint64_t kInstRetired = 0xC0;
  const auto alone = static_cast<std::uint32_t>(config.events.size());
  config.events.push_back(
      {.name = name,
       .select = arch::PerfEvtSel{}.with(arch::PerfEvtSel::event, kInstRetired).with(arch::PerfEvtSel::user, 1).raw(),
       .counters = arch::fixed(0) | arch::any_of(8),
       .leader = alone});
}

/// An event that wants a counter: which would do, and in which order they are tried.
struct Demand {
  std::uint32_t event;
  arch::CounterSet usable;
  bool pebs;
};

Demand demand_of(const EventSpec& event, std::uint32_t index, const arch::CpuModel& model) {
  Demand d{.event = index, .usable = event.counters & model.counters(), .pebs = event.precise > 0 && event.samples()};
  if (!d.pebs) return d;
  d.usable = event.precise_counters & model.pebs_counters;
  if (event.precise_distribution) d.usable = d.usable & model.distribution_counters;
  return d;
}

/// Counters held by demands: maximum bipartite matching, one augmenting path at a time (there are 12 counters).
class Bank {
 public:
  explicit Bank(const arch::CpuModel& model) : one_with_pebs_(!arch::traits(model.pebs_format()).names_counters) {}

  /// All of `more` or nothing.
  bool take(std::span<const Demand> more) {
    const auto before = *this;
    for (const Demand& d : more) {
      if (d.pebs && one_with_pebs_ && std::ranges::any_of(demands_, &Demand::pebs)) {
        *this = before;
        return false;
      }
      demands_.push_back(d);
      arch::CounterSet visited;
      if (!augment(demands_.size() - 1, visited)) {
        *this = before;
        return false;
      }
    }
    return true;
  }

  BankPlan plan() const {
    BankPlan out;
    for (unsigned c = 0; c < holders_.size(); ++c) {
      if (!holders_[c]) continue;
      const Demand& d = demands_[*holders_[c]];
      out.push_back({.event = d.event, .counter = c, .pebs = d.pebs});
    }
    return out;
  }

 private:
  bool augment(std::size_t demand, arch::CounterSet& visited) {
    const arch::CounterSet usable = demands_[demand].usable;
    // Fixed counters first, as Linux does: they can do nothing else. Free ones before others' ones.
    for (const arch::CounterSet part : {usable.fixed(), usable.general()}) {
      for (unsigned c = 0; c < holders_.size(); ++c) {
        if (part.has(c) && !holders_[c]) {
          holders_[c] = demand;
          return true;
        }
      }
    }
    for (unsigned c = 0; c < holders_.size(); ++c) {
      if (!usable.has(c) || visited.has(c)) continue;
      visited = visited | arch::only(c);
      if (augment(*holders_[c], visited)) {
        holders_[c] = demand;
        return true;
      }
    }
    return false;
  }

  // Records of formats 1 and 2 say which counters had overflowed, not whose record it is: two armed at once would lose
  // it.
  bool one_with_pebs_;
  std::vector<Demand> demands_;
  std::vector<std::optional<std::size_t>> holders_ = std::vector<std::optional<std::size_t>>(64);
};

void place(std::vector<Bank>& banks, std::span<const Demand> group, const arch::CpuModel& model) {
  if (std::any_of(banks.begin(), banks.end(), [&](Bank& bank) { return bank.take(group); })) return;
  Bank fresh(model);
  if (fresh.take(group)) {
    banks.push_back(std::move(fresh));
    return;
  }
  for (const Demand& member : group) place(banks, std::span(&member, 1), model);  // more than a whole PMU holds
}

/// All loads of a thread have one threshold.
Result<void> check_thresholds(std::span<const EventSpec> events, const arch::CpuModel& model) {
  const EventSpec* first = nullptr;
  for (const EventSpec& event : events) {
    if (!is_load_latency(event, model)) continue;
    if (first == nullptr) first = &event;
    if (event.latency_threshold == first->latency_threshold) continue;
    return Error{event.name + ": asks for loads of more than " + std::to_string(event.latency_threshold) +
                     " cycles, and " + first->name + " for those of more than " +
                     std::to_string(first->latency_threshold) + ": there is one threshold register",
                 "record them one after the other"};
  }
  return {};
}

}  // namespace

Result<std::vector<BankPlan>> plan_banks(std::span<const EventSpec> events, const arch::CpuModel& model) {
  if (auto agree = check_thresholds(events, model); !agree) return agree.error();
  std::vector<Bank> banks;
  std::vector<bool> placed(events.size(), false);
  for (std::uint32_t first = 0; first < events.size(); ++first) {
    if (placed[first]) continue;
    std::vector<Demand> group;
    for (std::uint32_t i = first; i < events.size(); ++i) {
      if (placed[i] || events[i].leader != events[first].leader) continue;
      placed[i] = true;
      if (events[i].kind != EventKind::Hardware) continue;
      group.push_back(demand_of(events[i], i, model));
      if (group.back().usable.empty()) {
        return Error{events[i].name + ": no counter of " + std::string(model.name) + " can " +
                         (group.back().pebs ? "sample it precisely" : "count it"),
                     group.back().pebs ? "leave the :p off, or take another CPU model" : "take another CPU model"};
      }
    }
    if (!group.empty()) place(banks, group, model);
  }
  std::vector<BankPlan> plans;
  plans.reserve(banks.size());
  for (const Bank& bank : banks) plans.push_back(bank.plan());
  return plans;
}

RecordingConfig with_progress_event(RecordingConfig config) {
  const bool adaptive =
      std::any_of(config.events.begin(), config.events.end(), [](const EventSpec& e) { return e.frequency != 0; });
  const bool late_samples = config.skid != Skid::None && !config.has_windows();
  if (late_samples && is_late_interrupt(config.skid)) {
    config.skid_event = static_cast<std::uint32_t>(config.events.size());
    append_instructions(kSkidEvent, config);
  }
  // A trace of branches alone counts nothing, and what counts nothing is told nothing.
  const bool asks_where = config.marked_regions || !config.regions.empty();
  if (adaptive || config.virtual_time || config.in_units || config.traces_branches() || late_samples || asks_where)
    append_instructions(kProgressEvent, config);
  return config;
}

std::size_t reported_events(const RecordingConfig& config) {
  std::size_t reported = config.events.size();
  while (reported != 0 &&
         (config.events[reported - 1].name == kProgressEvent || config.events[reported - 1].name == kSkidEvent))
    --reported;
  return reported;
}

}  // namespace zs::session
