#include "cli/gate/gate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/items.h"
#include "cli/command/words.h"
#include "cli/gate/change_rows.h"
#include "cli/gate/numbers.h"
#include "report/text/fit.h"
#include "report/text/markup.h"

namespace zs::cli {
namespace {

using report::Json;
using report::markdown_text;
using report::markup_text;
using report::printable_text;

constexpr std::size_t kWidth = 80;

std::string budget_text(double percent) { return fmt::format("{:g} %", percent); }

std::string cell(const std::optional<GateRow>& row) { return row ? count_text(row->value) : "-"; }
std::string percent_cell(const JudgedRow& row) { return row.has_difference() ? percent_text(row.percent()) : "-"; }

/// "98,000..102,000, then 97,000..99,000"; "" where both are exact
std::string intervals_text(const JudgedRow& row) {
  const auto one = [](const GateRow& of) {
    return of.is_exact_number() ? count_text(of.value) : count_text(of.low) + ".." + count_text(of.high);
  };
  if (!row.baseline || !row.now || (row.baseline->is_exact_number() && row.now->is_exact_number())) return "";
  return one(*row.baseline) + ", then " + one(*row.now);
}

std::string row_text(const JudgedRow& row) {
  constexpr std::size_t kName = 22, kCount = 17;
  const std::string name = printable_text(row.event), verdict(name_of(row.verdict));
  std::string text = " " + name;
  if (report::display_width(name) > kName) {
    text = " " + report::shortened(name, kWidth - 1) + "\n ";
    text.append(kName, ' ');
  } else {
    text.append(kName - report::display_width(name), ' ');
  }
  text += fmt::format("{:>{}}{:>{}}{:>11}  ", cell(row.baseline), kCount, cell(row.now), kCount, percent_cell(row));
  text += row.verdict == Verdict::Incomparable ? "?" : verdict;
  text += "\n";
  const std::string intervals = intervals_text(row);
  const bool exact = row.value_class == "exact" && intervals.empty();
  for (const std::string& more :
       {exact ? "" : row.value_class + (intervals.empty() ? "" : ": ") + intervals,
        row.verdict == Verdict::Incomparable && !row.why.empty() ? verdict + ": " + row.why : row.why}) {
    if (!more.empty()) text += report::folded("     " + printable_text(more), kWidth) + "\n";
  }
  return text;
}

std::string functions_text(const Judgement& judgement) {
  if (judgement.functions.empty()) return "";
  return "\n By instructions of functions:\n" + changed_functions_text(judgement.functions, judgement.instructions);
}

std::string page_text(const GatePage& page) {
  const Judgement& judgement = page.judgement;
  const std::string command = printable_text(joined(page.now.command));
  std::string budgets;
  for (const Budget& one : page.budgets)
    budgets += (budgets.empty() ? " budget: " : ", ") + one.event + " " + budget_text(one.percent);
  const std::string verdict =
      page.is_updated ? printable_text(page.baseline) + " updated" : std::string(name_of(judgement.verdict()));
  std::string text = report::folded(
      "\n zeroskid check of '" + command + "': " + verdict + "\n" + printable_text(budgets) + "\n", kWidth);
  for (const std::string& problem : judgement.problems)
    text += report::folded(" not comparable: " + printable_text(problem) + "\n", kWidth);
  if (!judgement.rows.empty()) text += fmt::format("\n {:<22}{:>17}{:>17}{:>11}\n", "", "baseline", "now", "change");
  std::string region = kWholeRunName;
  for (const JudgedRow& row : judgement.rows) {
    if (row.name != region) text += "\n region " + report::shortened(printable_text(row.name), kWidth - 8) + "\n";
    region = row.name;
    text += row_text(row);
  }
  text += functions_text(judgement);
  if (!page.is_updated && judgement.verdict() == Verdict::Better)
    text += "\n Better beyond the budget: update the baseline (--update).\n";
  return text + "\n";
}

Json side_json(const std::optional<GateRow>& row) {
  if (!row) return {};
  Json json{{"class", row->value_class}, {"value", number_json(row->value)}};
  if (!row->is_exact_number()) json["low"] = number_json(row->low), json["high"] = number_json(row->high);
  return json;
}

std::string page_json(const GatePage& page) {
  const Judgement& judgement = page.judgement;
  Json json{{"verdict", page.is_updated ? "updated" : name_of(judgement.verdict())},
            {"exit-status", page.is_updated ? 0 : exit_status_of(judgement.verdict())},
            {"command", page.now.command},
            {"version", page.now.version},
            {"model", page.now.model},
            {"setting", page.now.setting},
            {"layouts", page.now.layouts},
            {"problems", judgement.problems}};
  json["rows"] = Json::array();
  for (const JudgedRow& row : judgement.rows) {
    Json line{{"name", row.name}, {"event", row.event}, {"budget-percent", row.budget}};
    line["baseline"] = side_json(row.baseline);
    line["now"] = side_json(row.now);
    line["difference"] = row.has_difference() ? number_json(row.difference()) : Json();
    line["percent"] = row.has_difference() ? Json(row.percent()) : Json();
    line["verdict"] = name_of(row.verdict);
    if (!row.why.empty()) line["why"] = row.why;
    json["rows"].push_back(line);
  }
  json["functions"] = Json::array();
  for (const report::Change& one : judgement.functions) {
    if (one.difference() != 0) json["functions"].push_back(change_json(one, judgement.instructions));
  }
  return json.dump(1) + "\n";
}

/// "1,000 -> 1,200, +20.0 %, budget 1 %: worse"
std::string row_sentence(const JudgedRow& row) {
  return cell(row.baseline) + " -> " + cell(row.now) + ", " + percent_cell(row) + ", budget " +
         budget_text(row.budget) + ": " + std::string(name_of(row.verdict)) + (row.why.empty() ? "" : ": " + row.why);
}

std::string page_junit(const GatePage& page) {
  const Judgement& judgement = page.judgement;
  const std::string functions = functions_text(judgement);
  std::string cases;
  std::size_t count = 0, failures = 0, errors = 0;
  const auto add = [&](const std::string& name, Verdict verdict, const std::string& text) {
    ++count;
    cases +=
        "  <testcase classname=\"" + markup_text(joined(page.now.command)) + "\" name=\"" + markup_text(name) + "\"";
    if (verdict == Verdict::Within || page.is_updated) {
      cases += "/>\n";
      return;
    }
    const bool error = verdict == Verdict::Incomparable;
    (error ? errors : failures) += 1;
    const std::string kind = error ? "error" : "failure";
    cases += ">\n   <" + kind + " message=\"" + markup_text(text) + "\">";
    for (const std::string_view line : pieces_of(functions, '\n')) cases += markup_text(line) + "\n";
    cases += "</" + kind + ">\n  </testcase>\n";
  };
  for (const std::string& problem : judgement.problems) add("comparison", Verdict::Incomparable, problem);
  for (const JudgedRow& row : judgement.rows) add(row.name + ": " + row.event, row.verdict, row_sentence(row));
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", count, failures, errors);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
         ">\n <testsuite name=\"zeroskid check\" " + counts + ">\n" + cases + " </testsuite>\n</testsuites>\n";
}

std::string page_markdown(const GatePage& page) {
  const Judgement& judgement = page.judgement;
  const auto row_of = [](const std::vector<std::string>& cells) {
    std::string row = "|";
    for (const std::string& one : cells) row += " " + one + " |";
    return row + "\n";
  };
  std::string text = "**zeroskid check** of " + markdown_text(joined(page.now.command)) + ": **" +
                     std::string(page.is_updated ? "updated" : name_of(judgement.verdict())) + "**\n\n";
  for (const std::string& problem : judgement.problems) text += "- not comparable: " + markdown_text(problem) + "\n";
  if (!judgement.problems.empty()) text += "\n";
  text += "| where | event | baseline | now | change | budget | |\n|---|---|--:|--:|--:|--:|---|\n";
  for (const JudgedRow& row : judgement.rows) {
    text += row_of({markdown_text(row.name), markdown_text(row.event), cell(row.baseline), cell(row.now),
                    percent_cell(row), budget_text(row.budget),
                    std::string(name_of(row.verdict)) + (row.why.empty() ? "" : ": " + markdown_text(row.why))});
  }
  std::size_t shown = 0;
  constexpr std::size_t kMostShown = 10;
  for (const report::Change& one : judgement.functions) {
    if (one.difference() == 0 || shown == kMostShown) continue;
    if (shown++ == 0) text += "\n| function | baseline | now | instructions |\n|---|--:|--:|--:|\n";
    text += row_of({markdown_text(name_text(one)), count_text(one.value_a()), count_text(one.value_b()),
                    difference_text(one.difference())});
  }
  return text;
}

struct GateFormat {
  std::string_view name;
  GatePrinter printer;
};
constexpr std::array<GateFormat, 4> kGateFormats = {
    {{"text", page_text}, {"json", page_json}, {"junit", page_junit}, {"markdown", page_markdown}}};

}  // namespace

GatePrinter gate_printer(std::string_view format) {
  const auto found = std::ranges::find(kGateFormats, format, &GateFormat::name);
  return found != kGateFormats.end() ? found->printer : nullptr;
}

}  // namespace zs::cli
