// The lines of a recording that changed hands, as its log has them, with their fields named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "report/c2c/shared_line.h"
#include "session/recording/process_sharing.h"
#include "uarch/core_model.h"

namespace zs::cli {

/// chosen: what starting and joining a thread hands over is below that
inline constexpr std::uint64_t kFewestHandOvers = 10;

/// The core that was recorded, by what the recording says of it.
Result<uarch::CoreModel> recorded_core(const profile::PerfDataReader& reader);

/// All that a recording has of lines that changed hands.
struct SharedLines {
  std::vector<session::ProcessSharing> processes;
  std::vector<report::SharedLine> lines;  // of `processes`; most hand-overs first
  std::uint64_t left_out = 0;

  /// Those that changed hands often.
  std::size_t heavy() const;
};

/// An Error if the log is damaged.
Result<void> read_shared_lines(const profile::PerfDataReader& reader, SharedLines& shared);

/// Learns where stacks are, and names what lies in the first `wanted` lines.
/// spaces  after the last record
void name_fields(const profile::PerfDataReader& reader, const profile::AddressSpaces& spaces,
                 profile::Symbolizer& symbolizer, SharedLines& shared, std::size_t wanted);

}  // namespace zs::cli
