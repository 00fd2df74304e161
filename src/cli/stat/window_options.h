// -I and --skid of `zeroskid stat`: what closes a window.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "session/settings/config.h"

namespace zs::cli {

struct WindowOptions {
  std::vector<std::string> every;  // -I, each
  std::string skid;                // --skid
};

/// What was added to a recording for its windows.
struct WindowPlan {
  std::vector<std::string> closers;  // as -I spells them, in the order of Window::ended_by
  bool in_time = false;              // some -I is in milliseconds
  std::string skid;                  // for people; "" without one
};

/// Adds the counters that windows need behind `config.events`, whose own are used where they will do.
/// returns an error that names what is wrong with an -I, or says why the events and windows do not go together
Result<WindowPlan> plan_windows(const WindowOptions& options, const arch::CpuModel& model,
                                session::RecordingConfig& config);

/// Of an -I in milliseconds, which is the only kind that the kernel's counts know; 0 of another.
Result<std::chrono::milliseconds> in_milliseconds(const std::string& every);

/// Sets `config.position_event`, if it is not set: what windows and regions are placed by.
void count_positions(const arch::CpuModel& model, session::RecordingConfig& config);

}  // namespace zs::cli
