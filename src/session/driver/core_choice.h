// Which core models there are for the CPU models of a recording, and how much of one an event needs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "arch/cpu_model.h"
#include "arch/events/event.h"
#include "base/result.h"
#include "session/settings/config.h"
#include "uarch/core_model.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::session {

/// The core of this CPU model; null if there is none.
const uarch::CoreModel* core_of(const arch::CpuModel& model);

/// "haswell, skylake-server, ...": the CPU models that have one.
std::string cores_by_name();

/// The least that counts what is meant: a sum of signals, or time.
Detail least_detail(const arch::EventMeaning* meaning, arch::Tick tick);

/// What the data-source words of this event's records describe.
arch::SourceWord source_word_of(const EventSpec& event, const arch::CpuModel& model);

/// Whether the event is one of the load-latency facility.
bool is_load_latency(const EventSpec& event, const arch::CpuModel& model);

/// The core of config.cpu_model with config.model_settings made.
Result<uarch::CoreModel> chosen_core(const RecordingConfig& config, const arch::CpuModel& model);

/// The machine that the configuration asks for; null at Detail::Exact.
Result<std::unique_ptr<uarch::ModelledMachine>> make_machine(const RecordingConfig& config,
                                                             const arch::CpuModel& model);

}  // namespace zs::session
