// How far the instructions that samples show lie behind those that made their counters overflow, as histograms in text;
// and which function is blamed for which. Of a recording made with `record --skid` (arch/records/skid_note.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "arch/records/skid_note.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"

namespace zs::report {

/// Of the samples of one event.
struct SkidCounts {
  std::uint64_t samples = 0;
  std::map<std::uint64_t, std::uint64_t> instructions;  // distance -> samples
  std::map<std::int64_t, std::uint64_t> bytes;          // likewise; negative: shown is a lower address
  std::map<arch::SkidCause, std::uint64_t> causes;
  std::uint64_t hidden = 0;                                                // events in shadows
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions;  // true, shown -> samples

  void add(const arch::SkidNote& note, std::uint64_t shown);
};

/// By event of the recording.
/// returns an error that names the remedy if no sample says where its counter overflowed
Result<std::vector<SkidCounts>> skid_counts(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer);

/// "" without samples. width: of the page; 0: any
std::string skid_histogram(const SkidCounts& counts, std::size_t width = 0);

/// All of the recording.
Result<std::string> skid_text(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                              std::size_t width);

}  // namespace zs::report
