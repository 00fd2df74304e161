#include "cli/gate/diff_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "cli/gate/baseline.h"
#include "cli/gate/change_rows.h"
#include "cli/gate/numbers.h"
#include "report/text/fit.h"
#include "report/text/markup.h"

namespace zs::cli {
namespace {

using report::Change;
using report::EventChange;
using report::Json;

/// What has a part of the difference large enough to be shown, in the order that was asked for.
std::vector<const Change*> shown_of(const std::vector<Change>& all, double whole, const DiffStyle& style, bool keep) {
  std::vector<const Change*> shown;
  for (const Change& one : all) {
    const bool small = whole != 0 && std::abs(one.difference() / whole) * 100 < style.least_percent;
    if (one.difference() != 0 && (!small || (keep && &one == &all.front()))) shown.push_back(&one);
  }
  if (style.by_a) std::ranges::stable_sort(shown, std::greater<>(), [](const Change* one) { return one->value_a(); });
  return shown;
}

std::string count_cell(const std::optional<report::Sum>& sum) { return sum ? count_text(sum->value) : "-"; }

/// "+1,200", "~ -12" within the error; a ratio "1.98"; "new", "gone"
std::string computed(const Change& change, const DiffStyle& style) {
  const std::string mark = change.is_within_error() ? "~ " : "";
  if (!style.ratio) return mark + difference_text(change.difference());
  if (change.value_a() == 0 || !change.b) return change.value_a() == 0 ? "new" : "gone";
  return mark + fmt::format("{:.4g}", change.value_b() / change.value_a());
}

std::string share_text(const Change& change, double whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100 * change.difference() / whole);
}

std::string error_text(const Change& change) { return "+- " + count_text(std::round(change.error())); }

std::string class_text(const EventChange& event) {
  if (event.class_a.empty()) return "only in B";
  if (event.class_b.empty()) return "only in A";
  return event.class_a == event.class_b ? event.class_a : event.class_a + ", then " + event.class_b;
}

/// "1,000 -> 1,200, +200 (+20.0 %)"; of what is not exact how far that may be off
std::string whole_text(const Change& whole) {
  std::string text = count_cell(whole.a) + " -> " + count_cell(whole.b);
  if (!whole.a || !whole.b) return text;
  const double percent = 100 * whole.difference() / whole.value_a();
  text += ", " + difference_text(whole.difference()) + (whole.value_a() != 0 ? " (" + percent_text(percent) + ")" : "");
  if (whole.error() != 0) text += ", " + error_text(whole);
  return text + (whole.is_within_error() ? ": within the error" : "");
}

using Cells = std::vector<std::string>;  // the name last

/// Rows of functions, each with those of its lines below.
std::vector<Cells> rows_of(const EventChange& event, const DiffStyle& style) {
  const double whole = event.whole.difference();
  const bool has_errors = event.whole.error() != 0;
  std::vector<Cells> rows;
  const auto add = [&](const Change& change, const std::string& before) {
    Cells cells{count_cell(change.a), count_cell(change.b), computed(change, style)};
    if (has_errors) cells.push_back(error_text(change));
    cells.push_back(share_text(change, whole));
    cells.push_back(before + name_text(change) +
                    (change.dso.empty() ? "" : " (" + report::printable_text(change.dso) + ")") +
                    (change.same_code ? ", same code" : ""));
    rows.push_back(std::move(cells));
  };
  for (const Change* const function : shown_of(event.functions, whole, style, style.keeps_first)) {
    add(*function, "");
    if (!style.lines) continue;
    for (const Change* const line : shown_of(function->lines, whole, style, false)) add(*line, "  ");
  }
  if (rows.empty()) return rows;
  Cells heads{"A", "B", style.ratio ? "B/A" : "delta"};
  if (has_errors) heads.emplace_back("error");
  heads.insert(heads.end(), {"share", "where"});
  rows.insert(rows.begin(), std::move(heads));
  return rows;
}

/// Numbers flush right; names have what is left of the width.
std::string table_text(const std::vector<Cells>& rows, std::size_t width) {
  constexpr std::size_t kLeastName = 12, kGap = 2;
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size() - 1);
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t room = width;
  for (const std::size_t one : widths) room -= std::min(room, one + kGap);
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i)
      line += fmt::format("{:>{}}", row[i], widths[i] + (i == 0 ? 0 : kGap));
    const std::string name = width == 0 ? row.back() : report::shortened(row.back(), std::max(room, kLeastName));
    text +=
        (&row == &rows.front() ? "#" + line.substr(std::min<std::size_t>(line.size(), 1)) : line) + "  " + name + "\n";
  }
  return text;
}

std::string diff_text(const CountsFile& a, const CountsFile& b, const std::vector<EventChange>& changes,
                      const DiffStyle& style) {
  std::string text = "# A: " + report::printable_text(a.path) + "\n# B: " + report::printable_text(b.path) + "\n";
  for (const EventChange& event : changes) {
    text += report::folded("#\n# " + report::printable_text(event.whole.name) + " (" + class_text(event) +
                               "): " + whole_text(event.whole) + "\n",
                           style.width);
    const std::vector<Cells> rows = rows_of(event, style);
    if (!rows.empty()) text += "#\n" + table_text(rows, style.width);
    const auto same = std::ranges::count_if(event.functions, [](const Change& one) { return one.difference() == 0; });
    if (same != 0) text += fmt::format("# {} functions count the same\n", same);
  }
  const bool any_error = std::ranges::any_of(changes, [](const EventChange& one) { return one.whole.error() != 0; });
  return text +
         (any_error ? "#\n# ~: within the error, 2 * sqrt(n) * period of n samples or what intervals say\n" : "");
}

std::string diff_markdown(const CountsFile& a, const CountsFile& b, const std::vector<EventChange>& changes,
                          const DiffStyle& style) {
  std::string text = "A: " + report::markdown_text(a.path) + ", B: " + report::markdown_text(b.path) + "\n";
  for (const EventChange& event : changes) {
    text += "\n**" + report::markdown_text(event.whole.name) + "** (" + class_text(event) +
            "): " + report::markdown_text(whole_text(event.whole)) + "\n\n";
    bool head = true;
    for (const Cells& row : rows_of(event, style)) {
      std::string rule = "|";
      text += "|";
      for (const std::string& cell : row) {
        const std::size_t blanks = cell.find_first_not_of(' ');
        std::string indent;
        for (std::size_t i = 0; i < blanks && &cell == &row.back(); ++i) indent += "&nbsp;";
        text += " " + indent + report::markdown_text(cell.substr(std::min(blanks, cell.size()))) + " |";
        rule += &cell == &row.back() ? "---|" : "--:|";
      }
      text += "\n" + (head ? rule + "\n" : "");
      head = false;
    }
  }
  return text;
}

std::string diff_json(const CountsFile& a, const CountsFile& b, const std::vector<EventChange>& changes,
                      const DiffStyle& style) {
  Json json{{"a", a.path}, {"b", b.path}};
  json["events"] = Json::array();
  for (const EventChange& event : changes) {
    const double whole = event.whole.difference();
    Json one = change_json(event.whole, whole);
    one["class-a"] = event.class_a.empty() ? Json() : Json(event.class_a);
    one["class-b"] = event.class_b.empty() ? Json() : Json(event.class_b);
    one["functions"] = Json::array();
    for (const Change* const function : shown_of(event.functions, whole, style, style.keeps_first))
      one["functions"].push_back(change_json(*function, whole));
    json["events"].push_back(one);
  }
  return json.dump(1) + "\n";
}

struct DiffFormat {
  std::string_view name;
  DiffPrinter printer;
};
constexpr std::array<DiffFormat, 3> kDiffFormats = {{{"text", diff_text}, {"json", diff_json}, {"md", diff_markdown}}};

}  // namespace

DiffPrinter diff_printer(std::string_view format) {
  const auto found = std::ranges::find(kDiffFormats, format, &DiffFormat::name);
  return found != kDiffFormats.end() ? found->printer : nullptr;
}

}  // namespace zs::cli
