#include "session/driver/core_choice.h"

#include <utility>

#include "arch/events/tables.h"
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

namespace {

/// How far a core is replayed ahead of the others. source: docs/models/machine.md: from 1 to 100,000 the sharing is the
/// same.
constexpr std::uint64_t kQuantumCycles = 10'000;

}  // namespace

Detail least_detail(const arch::EventMeaning* meaning, arch::Tick tick) {
  const bool of_signals = meaning != nullptr && meaning->of_signals != nullptr;
  return tick != arch::Tick::None || of_signals ? Detail::Full : Detail::Exact;
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
  return uarch::with_overrides(*core, config.model_settings);
}

Result<std::unique_ptr<uarch::ModelledMachine>> make_machine(const RecordingConfig& config,
                                                             const arch::CpuModel& model) {
  if (config.detail == Detail::Exact) return std::unique_ptr<uarch::ModelledMachine>();
  const auto core = chosen_core(config, model);
  if (!core) return core.error();
  return std::make_unique<uarch::ModelledMachine>(
      *core, uarch::MachineOptions{.cores = config.cores,
                                   .seed = config.seed,
                                   .sampled = config.in_units,
                                   .quantum_cycles = config.cores > 1 ? kQuantumCycles : 0,
                                   .logs_sharing = config.log_sharing});
}

}  // namespace zs::session
