// --skid: how late windows end (`zeroskid stat`) and samples are taken (`zeroskid record`).
#pragma once

#include <cstdint>
#include <string>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "session/settings/config.h"

namespace zs::cli {

struct SkidChoice {
  session::Skid skid = session::Skid::None;
  std::uint64_t instructions = 0;  // Skid::Fixed
  /// For people, behind "late by": "5 to 205 instructions, as one machine was seen to (median 78)".
  std::string late_by;
};

/// Of windows, which interrupts end: N, pmi.
Result<SkidChoice> parse_window_skid(const std::string& text);

/// Of samples: pebs and pdist too. They are set in `config`, which has its events.
/// returns an error that names what of `config` does not go with it; else what a file's note says of it
Result<std::string> set_sample_skid(const std::string& text, const arch::CpuModel& model,
                                    session::RecordingConfig& config);

}  // namespace zs::cli
