#include "cli/gate/judgement.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "report/text/json.h"

namespace zs::cli {
namespace {

struct VerdictRow {
  std::string_view name;
  int exit_status;
};
constexpr std::array<VerdictRow, 4> kVerdicts = {{{"within", 0}, {"better", 3}, {"worse", 1}, {"not comparable", 4}}};

/// Events may have commas and '=' between slashes.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  bool in_slashes = false;
  for (const char c : text) {
    if (c == '/') in_slashes = !in_slashes;
    if (c == ',' && !in_slashes) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

const GateRow* find(const std::vector<GateRow>& rows, const GateRow& like) {
  const auto at =
      std::ranges::find_if(rows, [&](const GateRow& row) { return row.name == like.name && row.event == like.event; });
  return at != rows.end() ? &*at : nullptr;
}

/// As the file has them, where bytes that are no UTF-8 are replaced.
std::string written(const std::vector<std::string>& words) { return report::Json(words).dump(-1); }

/// Why two rows cannot be compared; "": they can.
std::string obstacle(const JudgedRow& row, const GateRun& baseline, const GateRun& now, bool has_budget) {
  if (!row.baseline) return "not in the baseline: --update";
  if (!has_budget) return "not in the budget: --update";
  if (!row.now) return "not counted now";
  const bool was_exact = row.baseline->value_class == "exact", is_exact = row.now->value_class == "exact";
  if (was_exact != is_exact) return "was " + row.baseline->value_class + ", is " + row.now->value_class;
  if (!is_exact && baseline.version != now.version) return "modelled by version " + baseline.version + ": --update";
  if (row.baseline->value == 0 || row.now->value == 0) return "counted nothing";
  return "";
}

void decide(JudgedRow& row) {
  row.verdict = Verdict::Within;
  if (std::abs(row.percent()) <= row.budget) return;
  const bool told_apart = row.now->low > row.baseline->high || row.now->high < row.baseline->low;
  if (!told_apart) {
    row.why = "within the intervals of both";
    return;
  }
  row.verdict = row.difference() > 0 ? Verdict::Worse : Verdict::Better;
}

}  // namespace

Result<std::vector<Budget>> parse_budgets(const std::string& text) {
  std::vector<Budget> budgets;
  for (const std::string& part : parts_of(text)) {
    const std::size_t equals = part.rfind('=');
    std::string number = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (number.ends_with('%')) number.pop_back();
    const auto percent = whole_number<double>(number);
    if (!percent || !(*percent >= 0) || !std::isfinite(*percent) || equals == 0)
      return Error{"--budget '" + part + "': is no EVENT=PERCENT", "--budget instructions=1%,branches=0.5%"};
    const std::string event = part.substr(0, equals);
    if (std::ranges::find(budgets, event, &Budget::event) != budgets.end())
      return Error{"--budget: " + event + " stands there twice", ""};
    budgets.push_back({event, *percent});
  }
  return budgets;
}

std::string_view name_of(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)].name; }
int exit_status_of(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)].exit_status; }

Verdict Judgement::verdict() const {
  if (!problems.empty() || rows.empty()) return Verdict::Incomparable;
  return std::ranges::max_element(rows, {}, &JudgedRow::verdict)->verdict;
}

Judgement judge(const GateRun& baseline, const GateRun& now, const std::vector<Budget>& budgets) {
  Judgement judgement;
  const auto same = [&](const char* what, const std::string& was, const std::string& is) {
    if (was != is) judgement.problems.push_back(std::string(what) + " was " + was + ", is " + is);
  };
  same("the CPU model", baseline.model, now.model);
  same("what is modelled", baseline.setting, now.setting);
  same("the command", written(baseline.command), written(now.command));
  same("the exit status", std::to_string(baseline.exit_status), std::to_string(now.exit_status));

  std::vector<GateRow> all = baseline.rows;
  for (const GateRow& row : now.rows) {
    if (find(all, row) == nullptr) all.push_back(row);
  }
  std::ranges::sort(
      all, {}, [](const GateRow& row) { return std::pair(row.name != kWholeRunName, std::pair(row.name, row.event)); });
  for (const GateRow& one : all) {
    JudgedRow row{.name = one.name, .event = one.event, .value_class = one.value_class};
    if (const GateRow* const was = find(baseline.rows, one)) row.baseline = *was;
    if (const GateRow* const is = find(now.rows, one)) row.now = *is, row.value_class = is->value_class;
    const auto budget = std::ranges::find(budgets, one.event, &Budget::event);
    if (budget != budgets.end()) row.budget = budget->percent;
    if (judgement.problems.empty()) {
      row.why = obstacle(row, baseline, now, budget != budgets.end());
      if (row.why.empty()) decide(row);
    }
    judgement.rows.push_back(std::move(row));
  }
  return judgement;
}

}  // namespace zs::cli
