#include "cli/questions.h"

#include <fmt/format.h>

#include <algorithm>

namespace zs::cli {
namespace {

// clang-format off
constexpr Question kQuestions[] = {
    {"What works here?",          "doctor",                                     ""},
    {"Where does the time go?",   "record PROGRAM; report",                     "sampling"},
    {"Which instruction is it?",  "annotate",                                   ""},
    {"How often, exactly?",       "stat -e EVENTS PROGRAM",                     "counting"},
    {"What changed?",             "stat --virtual-time PROGRAM, of both", "counting"},
    {"When does it happen?",      "stat -I 50000i PROGRAM; plot draws it", "counting"},
    {"Why is it slow?",           "topdown PROGRAM",                            "topdown"},
    {"Where was the data?",       "mem record PROGRAM; mem report",             "mem record"},
};

/// Geometric means over long programs, docs/benchmarks.md; of the modelled core at full depth.
struct Published {
  std::string_view name;
  double times_native;
};
constexpr Published kPublished[] = {{"counting", 1.26}, {"sampling", 1.42}, {"topdown", 162}, {"mem record", 162}};
// clang-format on

}  // namespace

std::span<const Question> questions() { return kQuestions; }

std::string cost_text(const Question& question, const std::optional<Costs>& costs) {
  if (question.cost.empty()) return "-";
  if (costs) {
    const auto row = std::ranges::find(costs->rows, question.cost, &Cost::name);
    if (row != costs->rows.end()) return times_text(row->times_native);
  }
  return times_text(std::ranges::find(kPublished, question.cost, &Published::name)->times_native);
}

std::string cost_origin(const std::optional<Costs>& costs) {
  return costs ? "Cost: CPU time, times native, measured on this machine by zeroskid doctor --measure."
               : "Cost: CPU time, times native; `zeroskid doctor --measure` finds it for this machine.";
}

std::string question_lines(const std::optional<Costs>& costs) {
  std::string page = fmt::format("{:<25} {:>4}  {}\n", "", "Cost", "");
  page.erase(page.find_last_not_of(" \n") + 1);
  page += "\n";
  for (const Question& row : questions())
    page += fmt::format("{:<25} {:>4}  zeroskid {}\n", row.asked, cost_text(row, costs), row.command);
  return page + cost_origin(costs) + "\n";
}

}  // namespace zs::cli
