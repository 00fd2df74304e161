// Whether a line is shared in earnest or by chance, what would keep its threads apart, and how often the line would
// still change hands: the log of the line, played again with its fields laid out in other ways.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/c2c/shared_line.h"
#include "uarch/memory_parameters.h"

namespace zs::cli {

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
