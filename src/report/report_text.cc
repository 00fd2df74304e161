#include "report/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/color.h"

namespace zs::report {
namespace {

constexpr std::size_t kPercentWidth = 8;
constexpr std::size_t kNumberWidth = 12;

double percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole != 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Columns are two blanks apart; the last one is not padded in rows, but is in the head.
class Table {
 public:
  void column(std::string_view head, std::size_t width) { columns_.push_back({std::string(head), width}); }

  std::string head() const {
    std::string names = "#", dots = "#";
    for (const Column& one : columns_) {
      names += (&one == columns_.data() ? " " : "  ") + (one.width == kNumberWidth && one.head.size() < one.width
                                                             ? fmt::format("{:>{}}", one.head, one.width)
                                                             : fmt::format("{:<{}}", one.head, one.width));
      dots += (&one == columns_.data() ? " " : "  ") + std::string(one.width, '.');
    }
    return names + "\n" + dots + "\n#\n";
  }

 private:
  struct Column {
    std::string head;
    std::size_t width;
  };
  std::vector<Column> columns_;
};

}  // namespace

std::string rounded_count(std::uint64_t count) {
  static constexpr char units[] = {' ', 'K', 'M', 'G'};
  std::size_t unit = 0;
  while (count > 1000 && unit + 1 < std::size(units)) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{}{}", count, units[unit]);
}

std::string report_text(const profile::Histogram& histogram, const profile::Aggregator& aggregator,
                        const ReportStyle& style) {
  std::string out = fmt::format("# Samples: {} of event '{}'\n# Event count (approx.): {}\n#\n",
                                rounded_count(histogram.items), histogram.event->name, histogram.weight);

  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> widths;
  for (const profile::SortKey key : style.keys) widths.push_back(profile::column_header(key).size());
  for (const profile::Entry* entry : histogram.entries) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < style.keys.size(); ++i) {
      row.push_back(aggregator.text(style.keys[i], *entry));
      widths[i] = std::max(widths[i], row.back().size());
    }
  }

  Table table;
  if (style.children) {
    table.column("Children", kPercentWidth);
    table.column("    Self", kPercentWidth);
  } else {
    table.column("Overhead", kPercentWidth);
  }
  if (style.sample_counts) table.column("Samples", kNumberWidth);
  if (style.periods) table.column("Period", kNumberWidth);
  for (std::size_t i = 0; i < style.keys.size(); ++i) table.column(profile::column_header(style.keys[i]), widths[i]);
  out += table.head();

  for (std::size_t i = 0; i < rows.size(); ++i) {
    const profile::Entry& entry = *histogram.entries[i];
    const double percent = percent_of(style.children ? entry.total : entry.own, histogram.weight);
    if (percent < style.percent_limit) continue;
    const auto percent_cell = [&](double value) {
      return "  " +
             percent_colored(fmt::format("{:>{}}", fmt::format("{:.2f}%", value), kPercentWidth), value, style.color);
    };
    out += percent_cell(percent);
    if (style.children) out += percent_cell(percent_of(entry.own, histogram.weight));
    if (style.sample_counts) out += fmt::format("  {:>{}}", entry.samples, kNumberWidth);
    if (style.periods) out += fmt::format("  {:>{}}", style.children ? entry.total : entry.own, kNumberWidth);
    for (std::size_t column = 0; column < rows[i].size(); ++column) {
      const bool last = column + 1 == rows[i].size() && !profile::is_padded(style.keys[column]);
      out += "  " + (last ? rows[i][column] : fmt::format("{:<{}}", rows[i][column], widths[column]));
    }
    out += '\n';
    if (style.call_graph) {
      out += draw_call_graph(entry.calls, histogram.weight, style.children ? entry.total : entry.own, style.graph);
    }
  }
  out += "\n\n";
  return out;
}

}  // namespace zs::report
