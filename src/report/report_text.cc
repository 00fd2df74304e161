#include "report/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/color.h"

namespace zs::report {
namespace {

constexpr std::size_t kPercentWidth = 8;
constexpr std::size_t kNumberWidth = 12;
constexpr std::size_t kLatencyWidth = 7;
constexpr std::string_view kLatencyHeads[] = {"Mean", "p50", "p99"};

double percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole != 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Columns are two blanks apart; the last one is not padded in rows, but is in the head.
class Table {
 public:
  void text(std::string_view head, std::size_t width) { columns_.push_back(fmt::format("{:<{}}", head, width)); }
  void number(std::string_view head, std::size_t width) { columns_.push_back(fmt::format("{:>{}}", head, width)); }

  std::string head() const {
    std::string names = "#", dots = "#";
    for (const std::string& one : columns_) {
      const std::string_view gap = &one == columns_.data() ? " " : "  ";
      names.append(gap).append(one);
      dots.append(gap).append(one.size(), '.');
    }
    return names + "\n" + dots + "\n#\n";
  }

 private:
  std::vector<std::string> columns_;  // heads, as wide as their columns
};

}  // namespace

std::uint32_t percentile(const std::vector<std::uint32_t>& ascending, unsigned percent) {
  if (ascending.empty()) return 0;
  const std::size_t rank = (ascending.size() * percent + 99) / 100;  // how many lie at or below it
  return ascending[std::max<std::size_t>(rank, 1) - 1];
}

std::string mean_text(const std::vector<std::uint32_t>& values) {
  if (values.empty()) return "-";
  std::uint64_t sum = 0;
  for (const std::uint32_t value : values) sum += value;
  return fmt::format("{:.1f}", static_cast<double>(sum) / static_cast<double>(values.size()));
}

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
  std::string out = fmt::format("# Samples: {} of event '{}'\n", rounded_count(histogram.items), histogram.event->name);
  if (style.memory_order.empty()) {
    out += fmt::format("# Event count (approx.): {}\n#\n", histogram.weight);
  } else {
    out += fmt::format("# Total weight : {}\n# Sort order   : {}\n#\n", histogram.weight, style.memory_order);
  }

  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> widths;
  for (const profile::SortKey key : style.keys) widths.push_back(profile::column_header(key).size());
  for (const profile::Entry* entry : histogram.entries) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < style.keys.size(); ++i) {
      row.push_back(aggregator.text(style.keys[i], *entry));
      widths[i] = std::max({widths[i], row.back().size(), profile::column_width(style.keys[i], *entry)});
    }
  }

  Table table;
  if (style.children) {
    table.number("Children", kPercentWidth);
    table.number("Self", kPercentWidth);
  } else {
    table.number("Overhead", kPercentWidth);
  }
  if (style.sample_counts) table.number("Samples", kNumberWidth);
  if (style.periods) table.number("Period", kNumberWidth);
  if (style.latencies) {
    for (const std::string_view head : kLatencyHeads) table.number(head, kLatencyWidth);
  }
  for (std::size_t i = 0; i < style.keys.size(); ++i) table.text(profile::column_header(style.keys[i]), widths[i]);
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
    if (style.latencies) {
      const auto cell = [&](const std::string& text) { out += fmt::format("  {:>{}}", text, kLatencyWidth); };
      cell(mean_text(entry.latencies));
      for (const unsigned share : {50U, 99U}) {
        cell(entry.latencies.empty() ? "-" : std::to_string(percentile(entry.latencies, share)));
      }
    }
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
