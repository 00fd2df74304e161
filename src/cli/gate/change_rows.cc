#include "cli/gate/change_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cli/gate/baseline.h"
#include "cli/gate/numbers.h"
#include "report/text/fit.h"
#include "report/text/markup.h"

namespace zs::cli {

using report::Change;
using report::Json;

namespace {

std::string_view remark_of(const Change& function) {
  if (!function.b) return ", gone";
  if (!function.a) return ", new";
  return function.same_code ? ", same code" : "";
}

}  // namespace

std::string name_text(const Change& change) {
  return report::printable_text(change.name + (change.before.empty() ? "" : " (was " + change.before + ")"));
}

Json change_json(const Change& change, double whole) {
  Json json{{"name", change.name}};
  if (!change.before.empty()) json["was"] = change.before;
  if (!change.dso.empty()) json["dso"] = change.dso;
  if (change.begins.second != 0) json["file"] = change.begins.first, json["line"] = change.begins.second;
  json["a"] = change.a ? number_json(change.a->value) : Json();
  json["b"] = change.b ? number_json(change.b->value) : Json();
  json["difference"] = number_json(change.difference());
  json["share"] = whole != 0 ? Json(change.difference() / whole) : Json();
  json["error"] = number_json(change.error());
  json["within-error"] = change.is_within_error();
  if (change.same_code) json["same-code"] = true;
  if (change.lines.empty()) return json;
  json["lines"] = Json::array();
  for (const Change& line : change.lines) {
    if (line.difference() != 0) json["lines"].push_back(change_json(line, whole));
  }
  return json;
}

std::string changed_functions_text(const std::vector<Change>& functions, double whole) {
  constexpr std::size_t kMostShown = 10, kMostLines = 3, kNameWidth = 44, kLineWidth = 40;
  constexpr double kLeastShare = 0.001;
  std::string text;
  std::size_t shown = 0, others = 0;
  double rest = 0, largest = 0;
  for (const Change& one : functions) largest = std::max(largest, std::abs(one.difference()));
  for (const Change& one : functions) {
    if (one.difference() == 0) continue;
    // The first is what was changed, however little it counts itself.
    const bool small = &one != &functions.front() && std::abs(one.difference()) < kLeastShare * largest;
    if (shown == kMostShown || small) {
      ++others;
      rest += one.difference();
      continue;
    }
    ++shown;
    text +=
        fmt::format("   {}  {}{}{}\n", report::shortened(name_text(one), kNameWidth), difference_text(one.difference()),
                    shown == 1 ? " of " + difference_text(whole) : "", remark_of(one));
    std::size_t lines = 0;
    for (const Change& line : one.lines) {
      if (line.difference() == 0 || lines++ == kMostLines) break;
      text += fmt::format("       {}  {}\n", report::shortened(name_text(line), kLineWidth),
                          difference_text(line.difference()));
    }
  }
  if (others != 0) text += fmt::format("   {} other{}  {}\n", others, others == 1 ? "" : "s", difference_text(rest));
  return text;
}

}  // namespace zs::cli
