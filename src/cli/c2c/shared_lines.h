// The lines of a recording that changed hands, as its log has them, with their fields named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "report/c2c/shared_line.h"
#include "session/recording/process_sharing.h"
#include "uarch/core_model.h"
#include "uarch/memory_parameters.h"

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

// Whether a line is shared in earnest or by chance, what would keep its threads apart, and how often the line would
// still change hands: the log of the line, played again with its fields laid out in other ways.

/// Says of the line what it is, and finds the layout of its fields that leaves the fewest hand-overs, if one leaves
/// notably fewer.
/// line  with its fields
void find_fix(report::SharedLine& line, const uarch::MemoryParameters& parameters);

/// A field, and the bytes that its address is to be a multiple of.
struct Alignment {
  std::string field;
  std::uint64_t bytes = 0;
};
/// "shared.setting=64": FIELD=BYTES, a power of two up to 4096.
Result<Alignment> parse_alignment(const std::string& text);

/// Adds what would be left with these alignments, made one after the other; what lies behind an aligned field moves
/// with it.
/// returns  whether the line has one of the fields
bool try_alignments(report::SharedLine& line, const std::vector<Alignment>& alignments,
                    const uarch::MemoryParameters& parameters);

}  // namespace zs::cli
