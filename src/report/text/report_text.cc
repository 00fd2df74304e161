#include "report/text/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/fit.h"
#include "report/text/percent.h"

namespace zs::report {
namespace {

constexpr std::size_t kPercentWidth = 8;
constexpr std::size_t kNumberWidth = 12;
constexpr std::size_t kLatencyWidth = 7;
constexpr std::size_t kNarrowCount = 8;  // of samples, where a page has a width

std::size_t count_width(const ReportStyle& style) { return style.width != 0 ? kNarrowCount : kNumberWidth; }

using Kind = ReportColumn::Kind;

struct NumberColumn {
  Kind kind;
  std::string_view name, head;  // name: perf's; "" where it has none
  std::size_t width;
};
constexpr NumberColumn kNumberColumns[] = {
    {Kind::Children, "overhead_children", "Children", kPercentWidth},
    {Kind::Self, "overhead", "Overhead", kPercentWidth},
    {Kind::Samples, "sample", "Samples", kNumberWidth},
    {Kind::Period, "period", "Period", kNumberWidth},
    {Kind::Mean, "", "Mean", kLatencyWidth},
    {Kind::Median, "", "p50", kLatencyWidth},
    {Kind::Tail, "", "p99", kLatencyWidth},
};
const NumberColumn& number_of(Kind kind) { return *std::ranges::find(kNumberColumns, kind, &NumberColumn::kind); }

std::vector<ReportColumn> columns_of(const ReportStyle& style) {
  if (!style.columns.empty()) return style.columns;
  std::vector<ReportColumn> columns;
  if (style.children) columns.push_back({Kind::Children});
  columns.push_back({Kind::Self});
  if (style.sample_counts) columns.push_back({Kind::Samples});
  if (style.periods) columns.push_back({Kind::Period});
  if (style.latencies) columns.insert(columns.end(), {{Kind::Mean}, {Kind::Median}, {Kind::Tail}});
  for (const profile::SortKey key : style.keys) columns.push_back({Kind::Key, key});
  return columns;
}

std::size_t number_width(Kind kind, const ReportStyle& style) {
  return kind == Kind::Samples ? count_width(style) : number_of(kind).width;
}

std::size_t numbers_width(const ReportStyle& style) {
  std::size_t width = 0;
  for (const ReportColumn& column : columns_of(style))
    width += column.kind == Kind::Key ? 0 : number_width(column.kind, style) + 2;
  return width;
}

/// A number without blanks around it.
std::string number_text(Kind kind, const profile::Entry& entry, std::uint64_t whole) {
  const auto percentile_text = [&](unsigned share) {
    return entry.latencies.empty() ? "-" : std::to_string(percentile(entry.latencies, share));
  };
  switch (kind) {
    case Kind::Children: return fmt::format("{:.2f}%", percent_of(entry.total, whole));
    case Kind::Self: return fmt::format("{:.2f}%", percent_of(entry.own, whole));
    case Kind::Samples: return std::to_string(entry.samples);
    case Kind::Period: return std::to_string(entry.own);
    case Kind::Mean: return mean_text(entry.latencies);
    case Kind::Median: return percentile_text(50);
    case Kind::Tail: return percentile_text(99);
    case Kind::Key: break;
  }
  return "";
}

/// Heaviest first, as they come; by columns that were asked for: numbers descending, then names ascending.
std::vector<const profile::Entry*> ordered(std::vector<const profile::Entry*> entries,
                                           const std::vector<ReportColumn>& columns,
                                           const profile::Aggregator& aggregator, const ReportStyle& style) {
  if (style.columns.empty()) return entries;
  const auto number = [](Kind kind, const profile::Entry& entry) {
    return kind == Kind::Children ? entry.total : kind == Kind::Samples ? entry.samples : entry.own;
  };
  std::ranges::stable_sort(entries, [&](const profile::Entry* a, const profile::Entry* b) {
    for (const ReportColumn& column : columns) {
      if (column.kind == Kind::Key) {
        const int order = aggregator.text(column.key, *a).compare(aggregator.text(column.key, *b));
        if (order != 0) return order < 0;
      } else if (const auto x = number(column.kind, *a), y = number(column.kind, *b); x != y) {
        return x > y;
      }
    }
    return false;
  });
  return entries;
}

/// Columns are two blanks apart, or by a separator; the last one is not padded in rows, but is in the head.
std::string head_of(const std::vector<std::string>& heads, const std::string& separator) {
  std::string names = "#", dots = "#";
  for (const std::string& one : heads) {
    const std::string gap = &one == heads.data() ? " " : separator.empty() ? "  " : separator;
    names.append(gap).append(one);
    dots.append(gap).append(one.size(), '.');
  }
  return names + "\n" + (separator.empty() ? dots + "\n#\n" : "");
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

std::optional<ReportColumn::Kind> column_named(std::string_view name) {
  const auto row = std::ranges::find(kNumberColumns, name, &NumberColumn::name);
  return name.empty() || row == std::end(kNumberColumns) ? std::nullopt : std::optional(row->kind);
}

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
  const std::vector<ReportColumn> columns = columns_of(style);
  const std::vector<const profile::Entry*> entries = ordered(histogram.entries, columns, aggregator, style);
  for (const profile::Entry* entry : entries) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < style.keys.size(); ++i) {
      row.push_back(aggregator.text(style.keys[i], *entry));
      widths[i] = std::max({widths[i], display_width(row.back()), profile::column_width(style.keys[i], *entry)});
    }
  }
  if (style.width != 0) widths = shorten(rows, widths, style, out);

  const bool children = std::ranges::find(columns, Kind::Children, &ReportColumn::kind) != columns.end();
  const auto place_of = [&](profile::SortKey key) {  // among the keys; beyond them: no room
    return static_cast<std::size_t>(std::ranges::find(style.keys, key) - style.keys.begin());
  };
  std::vector<std::string> heads;
  for (const ReportColumn& column : columns) {
    if (column.kind != Kind::Key) {
      const bool self = column.kind == Kind::Self && children;
      heads.push_back(
          fmt::format("{:>{}}", self ? "Self" : number_of(column.kind).head, number_width(column.kind, style)));
    } else if (const std::size_t at = place_of(column.key); at < widths.size()) {
      heads.push_back(fmt::format("{:<{}}", shortened(profile::column_header(column.key), widths[at]), widths[at]));
    }
  }
  out += head_of(heads, style.separator);
  if (!style.heads) out.clear();

  for (std::size_t i = 0; i < rows.size(); ++i) {
    const profile::Entry& entry = *entries[i];
    const double percent = percent_of(style.children ? entry.total : entry.own, histogram.weight);
    if (percent < style.percent_limit) continue;
    for (const ReportColumn& column : columns) {
      const bool first = &column == columns.data(), last = &column == &columns.back();
      const std::string gap = style.separator.empty() ? "  " : first ? "" : style.separator;
      if (column.kind != Kind::Key) {
        const std::string number = number_text(column.kind, entry, histogram.weight);
        const std::size_t width = number_width(column.kind, style);
        const bool share = column.kind == Kind::Self || column.kind == Kind::Children;
        const std::string cell =
            style.separator.empty() ? fmt::format("{:>{}}", number, width) : fmt::format(" {:<{}}", number, width - 1);
        out +=
            gap + (share ? percent_colored(
                               cell, percent_of(column.kind == Kind::Self ? entry.own : entry.total, histogram.weight),
                               style.color)
                         : cell);
      } else if (const std::size_t at = place_of(column.key); at < widths.size()) {
        out += gap + rows[i][at];
        const bool padded = !last || at + 1 < widths.size() || profile::is_padded(column.key);
        if (padded) out.append(widths[at] - display_width(rows[i][at]), ' ');
      }
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
