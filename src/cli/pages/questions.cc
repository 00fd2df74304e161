#include "cli/pages/questions.h"

#include <fmt/format.h>

namespace zs::cli {
namespace {

// clang-format off
constexpr Question kQuestions[] = {
    {"What works here?",          "doctor",                                     ""},
    {"Where does the time go?",   "record PROGRAM; report",                     kSampling},
    {"What ran, and how often?",  "profile PROGRAM; annotate",                  ""},
    {"Which instruction is it?",  "annotate",                                   ""},
    {"How often, exactly?",       "stat -e EVENTS PROGRAM",                     kCounting},
    {"What changed?",             "profile PROGRAM, of both; diff",             ""},
    {"Is it still as fast?",      "check --baseline FILE PROGRAM", kCounting},
    {"When does it happen?",      "stat -I 50000i PROGRAM; plot draws it", kCounting},
    {"Why is it slow?",           "topdown PROGRAM",                            kSampledTopdown},
    {"Where was the data?",       "mem record PROGRAM; mem report",             kSampledMemRecord},
    {"Who shares a cache line?",  "c2c record PROGRAM; c2c report",             kMemRecord},
    {"Who calls whom?",           "trace PROGRAM; trace report",                kTrace},
};
// clang-format on

}  // namespace

std::span<const Question> questions() { return kQuestions; }

std::string cost_text(const Question& question, const std::optional<Costs>& costs) {
  if (question.cost.empty()) return "-";
  return times_text(times_native(question.cost, costs));
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
