#include "engine/run/counting_mode.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "engine/translate/address_slots.h"
#include "engine/translate/line_watch.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kFarAway = std::uint64_t{1} << 46;

/// Most occurrences of an event in one instruction other than a REP string, found by asking it about extreme ones.
std::uint32_t most_per_instruction(const arch::EventMeaning& meaning) {
  std::uint32_t most = 1;
  for (int branch = 0; branch <= static_cast<int>(arch::BranchKind::Far); ++branch) {
    for (int fp = 0; fp <= static_cast<int>(arch::FpArith::Packed512Single); ++fp) {
      for (const bool taken : {false, true}) {
        arch::Retired extreme;
        extreme.branch = static_cast<arch::BranchKind>(branch);
        extreme.fp = static_cast<arch::FpArith>(fp);
        extreme.fp_weight = 2;
        extreme.loads = extreme.stores = 2;
        extreme.load_count = extreme.store_count = 2;
        extreme.split_loads = extreme.split_stores = 2;
        extreme.nop = extreme.locked = true;
        extreme.taken = taken;
        most = std::max(most, meaning.count(extreme));
      }
    }
  }
  CHECK(most <= kMaxPerInstruction);
  return most;
}

/// Of `signals`, with one at a time of each group from `group` on.
std::uint64_t most_of_signals(const arch::EventMeaning& meaning, const arch::CoreSignals& signals, std::size_t group) {
  if (group == arch::kAlternativeSignals.size()) return meaning.of_signals(signals);
  const auto first = static_cast<std::size_t>(arch::kAlternativeSignals[group].first);
  const auto last = static_cast<std::size_t>(arch::kAlternativeSignals[group].last);
  std::uint64_t most = 0;
  for (std::size_t chosen = first; chosen <= last; ++chosen) {
    arch::CoreSignals one = signals;
    for (std::size_t i = first; i <= last; ++i) one.counts[i] = i == chosen ? signals.counts[i] : 0;
    most = std::max(most, most_of_signals(meaning, one, group + 1));
  }
  return most;
}

/// The same of a modelled event: no instruction adds more to any of the signals that it sums, nor to all alternatives
/// together.
std::uint32_t most_per_instruction(const arch::EventMeaning& meaning, const arch::CoreFeed& core) {
  arch::CoreSignals most;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i)
    most.counts[i] = core.most_per_instruction(static_cast<arch::CoreSignal>(i));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most_of_signals(meaning, most, 0), 1, UINT32_MAX));
}

/// The signals that a modelled event sums.
arch::SignalSet signals_of(const arch::EventMeaning& meaning) {
  arch::SignalSet signals;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    arch::CoreSignals one;
    one.counts[i] = 1U << 20;  // some events are parts of a signal
    signals[i] = meaning.of_signals(one) != 0;
  }
  return signals;
}

/// Which instructions can have one of these.
std::uint8_t risks_of(const arch::SignalSet& signals) {
  const auto risk_of = [](arch::CoreSignal signal) {
    switch (arch::cause_of(signal)) {
      case arch::SignalCause::Load: return kRiskLoad;
      case arch::SignalCause::Store: return kRiskStore;
      case arch::SignalCause::Branch: return kRiskBranch;
      case arch::SignalCause::Any: break;
    }
    return kRiskAny;
  };
  std::uint8_t risks = 0;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    if (signals[i]) risks = static_cast<std::uint8_t>(risks | risk_of(static_cast<arch::CoreSignal>(i)));
  }
  return risks;
}

/// Whether the event happens exactly once in every instruction, so that its count is also a bound on time.
bool counts_instructions(const arch::EventMeaning& meaning) {
  if (most_per_instruction(meaning) != 1) return false;
  for (int branch = 0; branch <= static_cast<int>(arch::BranchKind::Far); ++branch) {
    arch::Retired plain;
    plain.branch = static_cast<arch::BranchKind>(branch);
    if (meaning.count(plain) != 1) return false;
  }
  return true;
}

}  // namespace

std::uint64_t nearest_time(const pmu::Pmu& pmu) {
  constexpr std::uint64_t kWidest = 8;  // slots in a cycle
  const pmu::Elapsed left = pmu.time_headroom();
  const std::uint64_t whole_ticks = std::min(std::max<std::uint64_t>(left.bus, 1) - 1, UINT64_MAX / kCyclesPerBusTick);
  return std::min({left.core, left.reference, left.slots / kWidest, whole_ticks * kCyclesPerBusTick});
}

/// Whether nothing may overflow that only the core model knows of.
bool CountingMode::only_reported_are_near(const VirtualCpu& cpu) const {
  std::size_t accumulator = 0;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    if (nearest_time(*pmu) < kFarAway) return false;
    for (std::size_t own = 0; own < pmu->accumulators().size(); ++own, ++accumulator) {
      if (accumulators->modelled(accumulator) && pmu->headroom(own) < kFarAway) return false;
    }
  }
  return true;
}

/// The signals whose changes may overflow a modelled accumulator, where nothing else may overflow and nothing that a
/// sample shows is gone when the core has played what ran; otherwise none. Not of time, which belongs to no
/// instruction.
arch::SignalSet CountingMode::deferrable(const VirtualCpu& cpu) const {
  arch::SignalSet near;
  if (!models || cpu.phase != nullptr || cpu.wants_registers || cpu.stops_at_pmi) return near;
  std::size_t accumulator = 0;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    if (nearest_time(*pmu) < kFarAway || pmu->wants_branches() || pmu->needs_each()) return {};
    for (std::size_t own = 0; own < pmu->accumulators().size(); ++own, ++accumulator) {
      if (pmu->headroom(own) >= kFarAway) continue;
      if (!accumulators->modelled(accumulator)) return {};
      near |= signals_of(pmu->accumulators()[own]);
    }
  }
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (near[i] && arch::is_time(static_cast<arch::CoreSignal>(i))) return {};
  }
  return near;
}

bool CountingMode::any_near() const {
  return std::ranges::any_of(units, [](std::uint32_t unit) { return unit != 0; });
}

CountingMode::CountingMode(const VirtualCpu& cpu, bool fast_forward) {
  std::vector<arch::EventMeaning> meanings;
  std::vector<bool> asleep;
  bool branches = false, only_add = true;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    for (std::size_t accumulator = 0; accumulator < pmu->accumulators().size(); ++accumulator)
      asleep.push_back(fast_forward && pmu->headroom(accumulator) == pmu::Pmu::kAsleep);
    meanings.insert(meanings.end(), pmu->accumulators().begin(), pmu->accumulators().end());
    branches |= pmu->wants_branches();
    only_add &= pmu->only_adds();
  }
  models = cpu.core != nullptr && !fast_forward;
  counts_paths = cpu.counts_paths;
  accumulators = std::make_unique<AccumulatorSet>(std::move(meanings), cpu.core != nullptr, std::move(asleep));
  splits =
      cpu.late_interrupts && only_add && (cpu.core == nullptr || (cpu.phase == nullptr && only_reported_are_near(cpu)));
  watched = splits ? arch::SignalSet() : deferrable(cpu);
  deferred = watched.any();
  per_instruction.clear();
  for (std::size_t accumulator = 0; accumulator < accumulators->size(); ++accumulator) {
    const arch::EventMeaning& meaning = (*accumulators)[accumulator];
    per_instruction.push_back(accumulators->modelled(accumulator) ? most_per_instruction(meaning, *cpu.core)
                                                                  : most_per_instruction(meaning));
  }
  // Elements of REP strings have no bound per block, so they are summed up only where no overflow can be near.
  count_elements = accumulators->any_memory() && !splits;
  // A block has about nine instructions; of what only some instructions do, fewer.
  // Where registers are stored too, these take a word for two instructions anyway.
  const std::uint32_t instructions_per_word = models ? 2 : 8, others_per_word = models ? 1 : 2;
  units.clear();
  arch::SignalSet near_signals;
  unsigned exact_near = 0;
  time_is_near = false;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    for (std::size_t accumulator = 0; accumulator < pmu->accumulators().size(); ++accumulator) {
      const arch::EventMeaning& meaning = pmu->accumulators()[accumulator];
      // What sleeps in the warm-up is sampled in the unit behind it.
      const std::uint64_t headroom = pmu->headroom(accumulator);
      const bool near = !splits && !deferred && (headroom == pmu::Pmu::kAsleep ? !fast_forward : headroom < kFarAway);
      if (meaning.memory && near) count_elements = false;
      if (accumulators->modelled(units.size())) {
        if (!models) {
          units.push_back(0);
          continue;
        }
        if (near) near_signals |= signals_of(meaning);
        units.push_back(near ? per_instruction[units.size()] : 0);
      } else {
        exact_near += near ? 1 : 0;
        units.push_back(!near ? 0 : counts_instructions(meaning) ? instructions_per_word : others_per_word);
      }
    }
  }
  risks = risks_of(near_signals);
  const bool by_hits = std::ranges::any_of(arch::kHitSignals, [&near_signals](arch::CoreSignal signal) {
    return near_signals[static_cast<std::size_t>(signal)];
  });
  seldom = branches || by_hits ? arch::SignalSet() : near_signals;
  if (models) {
    for (const pmu::Pmu* pmu : cpu.pmus) time_is_near |= nearest_time(*pmu) < kFarAway;
    if (time_is_near) risks |= kRiskAny;
  }
  others_are_near = exact_near != 0;
  // One is the end of a phase, where all cores play what they have (SingleSteps::retire).
  const unsigned ends_of_phases = cpu.phase != nullptr ? 1 : 0;
  at_once = models && (near_signals.any() || time_is_near || exact_near > ends_of_phases);
  logs = at_once && (near_signals.any() || (others_are_near && cpu.phase == nullptr)) && !time_is_near &&
         !cpu.stops_at_pmi;
  bool only_instructions = accumulators->any_counted();
  for (std::size_t accumulator = 0; accumulator < accumulators->size(); ++accumulator)
    only_instructions &= !accumulators->counted(accumulator) || counts_instructions((*accumulators)[accumulator]);
  // Stops that code passes by itself would lose their order among probes; in a phase it passes none.
  const bool one = accumulators->size() == 1 || cpu.phase != nullptr;
  const bool stops_among_probes = cpu.probes && any_near() && cpu.phase == nullptr;
  const bool budget = !counts_paths && !models && one && only_instructions && !branches && !stops_among_probes;
  watches_lines = fast_forward && can_watch_lines();
  form = budget ? TraceForm::Budget : any_near() || models ? TraceForm::Spaced : TraceForm::Records;
}

TranslationOptions CountingMode::translator_options(const Config& config) const {
  TranslationOptions options;
  options.max_instructions = config.max_block_instructions;
  options.processor = config.processor();
  options.form = form;
  options.count_elements = count_elements;
  options.addresses = models;
  options.risks = risks;
  options.wants_retirements = splits && form != TraceForm::Budget;
  options.logs = logs;
  options.stack_pointers = counts_paths && config.contexts != 0;
  options.brakes = has_lahf() && (risks != 0 || any_near()) &&
                   (form != TraceForm::Budget || config.max_block_instructions <= TranslationOptions::kMostBraked);
  return options;
}

}  // namespace zs::engine
