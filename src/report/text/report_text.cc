#include "report/text/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/color.h"
#include "report/text/fit.h"
#include "report/text/percent.h"

namespace zs::report {
namespace {

constexpr std::size_t kPercentWidth = 8;
constexpr std::size_t kNumberWidth = 12;
constexpr std::size_t kLatencyWidth = 7;
constexpr std::size_t kNarrowCount = 8;  // of samples, where a page has a width
constexpr std::string_view kLatencyHeads[] = {"Mean", "p50", "p99"};

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

std::size_t count_width(const ReportStyle& style) { return style.width != 0 ? kNarrowCount : kNumberWidth; }

/// Columns of numbers, before the keys'.
std::size_t numbers_width(const ReportStyle& style) {
  std::size_t width = (style.children ? 2 : 1) * (kPercentWidth + 2);
  width += (style.sample_counts ? count_width(style) + 2 : 0) + (style.periods ? kNumberWidth + 2 : 0);
  return width + (style.latencies ? std::size(kLatencyHeads) * (kLatencyWidth + 2) : 0);
}

/// Makes the rows as narrow as the page; `out` gets a line that names the columns for which there is no room.
std::vector<std::size_t> shorten(std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& widths,
                                 const ReportStyle& style, std::string& out) {
  constexpr std::size_t kLeast = 12;  // chosen: of a name
  std::vector<ColumnRoom> columns;
  columns.reserve(widths.size());
  for (const std::size_t width : widths) columns.push_back({width, std::min(width, kLeast)});
  const std::size_t numbers = numbers_width(style);
  std::vector<std::size_t> fitting = fitting_widths(columns, 2, style.width > numbers ? style.width - numbers : 0);
  std::string left_out;
  for (std::size_t i = fitting.size(); i < style.keys.size(); ++i) {
    left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", profile::column_header(style.keys[i]));
  }
  if (!left_out.empty()) out += cut_off("# No room (-w shows all): " + left_out, style.width) + "\n#\n";
  for (auto& row : rows) {
    for (std::size_t i = 0; i < fitting.size(); ++i) row[i] = shortened(row[i], fitting[i]);
  }
  return fitting;
}

}  // namespace

std::uint32_t percentile(const std::vector<profile::Latency>& ascending, unsigned percent) {
  std::uint64_t all = 0;
  for (const profile::Latency& one : ascending) all += one.accesses;
  const double rank = static_cast<double>(all) * percent / 100;  // how many lie at or below it
  std::uint64_t so_far = 0;
  for (const profile::Latency& one : ascending) {
    so_far += one.accesses;
    if (static_cast<double>(so_far) >= rank) return one.cycles;
  }
  return 0;
}

std::string mean_text(const std::vector<profile::Latency>& values) {
  if (values.empty()) return "-";
  double sum = 0, all = 0;
  for (const profile::Latency& one : values) {
    sum += static_cast<double>(one.cycles) * static_cast<double>(one.accesses);
    all += static_cast<double>(one.accesses);
  }
  return fmt::format("{:.1f}", sum / all);
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
  const std::string samples = fmt::format("# Samples: {} of event ", rounded_count(histogram.items));
  const std::size_t room =
      style.width > samples.size() + 2 ? style.width - samples.size() - 2 : histogram.event->name.size();
  std::string out = fmt::format("{}'{}'", samples, shortened(histogram.event->name, room));
  if (!style.times.empty()) out += fmt::format(" (time slices: {})", style.times);
  out += '\n';
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
      widths[i] = std::max({widths[i], display_width(row.back()), profile::column_width(style.keys[i], *entry)});
    }
  }
  if (style.width != 0) widths = shorten(rows, widths, style, out);

  Table table;
  if (style.children) {
    table.number("Children", kPercentWidth);
    table.number("Self", kPercentWidth);
  } else {
    table.number("Overhead", kPercentWidth);
  }
  if (style.sample_counts) table.number("Samples", count_width(style));
  if (style.periods) table.number("Period", kNumberWidth);
  if (style.latencies) {
    for (const std::string_view head : kLatencyHeads) table.number(head, kLatencyWidth);
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    table.text(shortened(profile::column_header(style.keys[i]), widths[i]), widths[i]);
  }
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
    if (style.sample_counts) out += fmt::format("  {:>{}}", entry.samples, count_width(style));
    if (style.periods) out += fmt::format("  {:>{}}", entry.own, kNumberWidth);
    if (style.latencies) {
      const auto cell = [&](const std::string& text) { out += fmt::format("  {:>{}}", text, kLatencyWidth); };
      cell(mean_text(entry.latencies));
      for (const unsigned share : {50U, 99U}) {
        cell(entry.latencies.empty() ? "-" : std::to_string(percentile(entry.latencies, share)));
      }
    }
    for (std::size_t column = 0; column < widths.size(); ++column) {
      const bool last = column + 1 == widths.size() && !profile::is_padded(style.keys[column]);
      out += "  " + rows[i][column];
      if (!last) out.append(widths[column] - display_width(rows[i][column]), ' ');
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
