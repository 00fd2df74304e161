// Runs a program under this machine's PMU and under the software PMU, and compares what they counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/list/known_errors.h"
#include "cli/run/own_signals.h"
#include "cli/run/run_program.h"
#include "cli/stat/stat_options.h"
#include "host/open_events.h"

namespace zs::cli {

struct CalibratedEvent {
  std::string name;
  std::vector<double> hardware;  // a count for each run
  double software = 0;
  std::string software_class;  // "exact", "modelled", "estimated"
  bool took_turns = false;     // with other events, so that hardware's counts are scaled

  double hardware_mean() const;
  /// Software's count over hardware's, less one. Nothing where the hardware counted nothing.
  std::optional<double> error_percent() const;
};

struct Calibration {
  std::string cpu;    // this machine's processor, by its own name
  std::string model;  // that played it: "zen4@1"
  std::string program;
  std::string date;  // 2026-11-28
  std::vector<CalibratedEvent> events;
};

std::string calibration_page(const Calibration& calibration);

/// What is kept of it.
std::vector<KnownError> errors_of(const Calibration& calibration);

struct HardwareRuns {
  std::vector<host::KernelEvent> events;  // in ring 3, where the software PMU counts too
  std::string path;
  std::vector<std::string> argv;
  std::uint64_t runs = 3;
  host::Permissions permissions;
  host::Opener opener = host::kernel_opener();
};

/// The processor's events that are meant by what the software PMU counts in `stat`: the kernel's of the same name, else
/// the model's own encoding, if this is a model of this very processor.
/// An Error names what is no event of a processor's: both units would ask the kernel.
Result<std::vector<host::KernelEvent>> hardware_events(const StatOptions& stat, const std::string& remark);

/// Fills in hardware's counts. An Error names what cannot be opened; the program has not run then.
Result<int> count_by_hardware(const HardwareRuns& hardware, OwnSignals& signals, std::vector<CalibratedEvent>& events);

/// Fills in software's counts.
/// returns the program's wait status; nothing if it could not be run, which has been said
std::optional<int> count_by_software(const ProgramToRun& program, StatOptions& stat, OwnSignals& signals,
                                     std::vector<CalibratedEvent>& events);

}  // namespace zs::cli
