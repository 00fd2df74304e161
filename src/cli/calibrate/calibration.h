// Both units' counts of a program, and how far apart they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/list/known_errors.h"

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

}  // namespace zs::cli
