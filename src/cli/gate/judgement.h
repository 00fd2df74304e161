// Whether a run is within a budget of its baseline. Fail-closed: what cannot be compared is never within.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/gate/baseline.h"
#include "report/diff/changes.h"

namespace zs::cli {

struct Budget {
  std::string event;   // as it was typed
  double percent = 0;  // up and down
};

/// "instructions=1%,branches=0.5%"
Result<std::vector<Budget>> parse_budgets(const std::string& text);

/// In the order of what decides: one row that cannot be compared makes the run such.
enum class Verdict : std::uint8_t { Within, Better, Worse, Incomparable };
std::string_view name_of(Verdict verdict);  // "within", "better", "worse", "not comparable"
int exit_status_of(Verdict verdict);

struct JudgedRow {
  std::string name, event, value_class;
  std::optional<GateRow> baseline, now;
  double budget = 0;  // percent
  Verdict verdict = Verdict::Incomparable;
  std::string why;  // "": the numbers say it

  double difference() const { return now->value - baseline->value; }
  /// Only of rows on both sides, with something in the baseline.
  double percent() const { return 100 * difference() / baseline->value; }
  bool has_difference() const { return baseline && now && baseline->value > 0; }
};

struct Judgement {
  std::vector<std::string> problems;  // why the runs cannot be compared at all
  std::vector<JudgedRow> rows;
  std::vector<report::Change> functions;  // if looked for, and there is something to compare with
  double instructions = 0;                // the difference of all functions

  Verdict verdict() const;
};

/// budget  of each event that was counted
Judgement judge(const GateRun& baseline, const GateRun& now, const std::vector<Budget>& budgets);

}  // namespace zs::cli
