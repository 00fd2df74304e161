#include "session/core_choice.h"

#include <algorithm>
#include <utility>

#include "arch/events/tables.h"
#include "arch/msrs.h"
#include "uarch/overrides.h"

namespace zs::session {
const uarch::CoreModel* core_of(const arch::CpuModel& model) { return uarch::find_core_model(model.name); }

std::string cores_by_name() {
  std::string names;
  for (const arch::CpuModel& model : arch::cpu_models()) {
    if (core_of(model) != nullptr) names += (names.empty() ? "" : ", ") + std::string(model.name);
  }
  return names;
}

bool depends_on(const arch::EventMeaning& meaning, arch::CoreSignal signal) {
  arch::CoreSignals only;
  only[signal] = 1;
  return meaning.of_signals(only) != 0;
}

namespace {

/// How far a core is replayed ahead of the others. source: docs/models/machine.md: from 1 to 100,000 the sharing is the
/// same.
constexpr std::uint64_t kQuantumCycles = 10'000;

/// Whether somebody is told of mispredictions.
bool reports_branches(const RecordingConfig& config, const arch::CpuModel& model) {
  using enum arch::CoreSignal;
  constexpr arch::CoreSignal kOfBranches[] = {MispredictedTaken,        MispredictedNotTaken, MispredictedIndirectJump,
                                              MispredictedIndirectCall, MispredictedReturn,   Resteers};
  return config.branch_stack || std::ranges::any_of(config.events, [&](const EventSpec& event) {
           if (event.kind == EventKind::IbsOp) return true;
           const arch::EventMeaning* const meaning = arch::meaning_of(model, arch::PerfEvtSel{event.select});
           if (event.kind != EventKind::Hardware || meaning == nullptr || meaning->of_signals == nullptr) return false;
           return std::ranges::any_of(kOfBranches,
                                      [&](arch::CoreSignal signal) { return depends_on(*meaning, signal); });
         });
}

}  // namespace

Detail least_detail(const arch::EventMeaning* meaning, arch::Tick tick) {
  if (tick != arch::Tick::None) return Detail::Full;
  if (meaning == nullptr || meaning->of_signals == nullptr) return Detail::Exact;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    const auto signal = static_cast<arch::CoreSignal>(i);
    if (depends_on(*meaning, signal) && !uarch::covers(uarch::Depth::Fast, signal)) return Detail::Full;
  }
  return Detail::Fast;
}

arch::SourceWord source_word_of(const EventSpec& event, const arch::CpuModel& model) {
  if (event.kind != EventKind::Hardware) return arch::SourceWord::None;
  return arch::source_word(model, arch::find_event(model, arch::PerfEvtSel{event.select}));
}

bool is_load_latency(const EventSpec& event, const arch::CpuModel& model) {
  return source_word_of(event, model) == arch::SourceWord::LoadLatency;
}

Result<uarch::CoreModel> chosen_core(const RecordingConfig& config, const arch::CpuModel& model) {
  const uarch::CoreModel* const core = core_of(model);
  if (core == nullptr) {
    return Error{std::string(model.name) + " has no model of its core", "CPU models with one are " + cores_by_name()};
  }
  uarch::CoreModel chosen = *core;
  for (const std::string& setting : config.model_settings) {
    auto changed = uarch::with_override(chosen, setting);
    if (!changed) return changed.error();
    chosen = *std::move(changed);
  }
  return chosen;
}

Result<std::unique_ptr<uarch::ModelledMachine>> make_machine(const RecordingConfig& config,
                                                             const arch::CpuModel& model) {
  if (config.detail == Detail::Exact) return std::unique_ptr<uarch::ModelledMachine>();
  const auto core = chosen_core(config, model);
  if (!core) return core.error();
  return std::make_unique<uarch::ModelledMachine>(
      *core, uarch::MachineOptions{.cores = config.cores,
                                   .seed = config.seed,
                                   .depth = config.detail == Detail::Fast ? uarch::Depth::Fast : uarch::Depth::Full,
                                   .reports_branches = reports_branches(config, model),
                                   .sampled = config.in_units,
                                   .quantum_cycles = config.cores > 1 ? kQuantumCycles : 0,
                                   .logs_sharing = config.log_sharing});
}

}  // namespace zs::session
