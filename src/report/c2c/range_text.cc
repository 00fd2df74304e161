#include "report/c2c/range_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/c2c/sharing_text.h"

namespace zs::report {
namespace {

/// "1,190 to 1,214"; one number where they agree.
std::string range_of(const ObjectRange& object, std::uint64_t ObjectCounts::*count) {
  const auto [least, most] = std::ranges::minmax(object.recordings, {}, count);
  if (least.*count == most.*count) return with_commas(least.*count);
  return fmt::format("{} to {}", with_commas(least.*count), with_commas(most.*count));
}

/// "false sharing in 3"
std::string kinds_of(const ObjectRange& object) {
  std::map<Sharing, std::size_t> recordings;
  std::size_t none = 0;
  for (const ObjectCounts& one : object.recordings) {
    for (const Sharing kind : one.kinds) ++recordings[kind];
    none += one.kinds.empty() ? 1 : 0;
  }
  std::string text;
  for (const auto& [kind, count] : recordings)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", word_of(kind), count);
  return none == 0 ? text : fmt::format("{}, seldom handed over in {}", text, none);
}

}  // namespace

std::string range_text(const std::vector<ObjectRange>& objects, std::size_t recordings) {
  std::string text = fmt::format("# Over {} recordings, least to most; all lines of an object together\n", recordings);
  text += fmt::format("    {:>20}  {:>20}  Object\n", "Hand-overs", "HITM");
  for (const ObjectRange& object : objects) {
    text += fmt::format("    {:>20}  {:>20}  {}: {}\n", range_of(object, &ObjectCounts::hand_overs),
                        range_of(object, &ObjectCounts::hitm), object.name, kinds_of(object));
  }
  return text;
}

}  // namespace zs::report
