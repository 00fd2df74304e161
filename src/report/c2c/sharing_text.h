// The lines that threads fought over, as the model of coherence saw them: who uses which bytes, whether they mean each
// other, and what would keep them apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/aggregate/cache_lines.h"
#include "report/c2c/shared_line.h"

namespace zs::report {

/// "false sharing"
std::string_view word_of(Sharing sharing);

struct SharingStyle {
  std::string model;           // "skylake-server@1"
  std::size_t lines = 10;      // at most
  std::uint64_t left_out = 0;  // hand-overs of lines that the log has no room for
};

/// What stands there instead where the recording has no log of lines: what its samples do not say.
std::string no_sharing_text(const profile::AccessCounts& samples);

/// lines  those with the most hand-overs first
std::string sharing_text(const std::vector<SharedLine>& lines, const SharingStyle& style);

// Over several recordings of a program: the least and the most that each object's lines changed hands.

struct ObjectCounts {
  std::uint64_t hand_overs = 0, hitm = 0;
  std::vector<Sharing> kinds;  // empty: none of its lines changed hands often
};
struct ObjectRange {
  std::string name;
  std::vector<ObjectCounts> recordings;
};

std::string range_text(const std::vector<ObjectRange>& objects, std::size_t recordings);

}  // namespace zs::report
