// Shared lines over several recordings of a program: the least and the most that each object's lines changed hands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/c2c/shared_line.h"

namespace zs::report {

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
