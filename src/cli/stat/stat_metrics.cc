#include "cli/stat/stat_metrics.h"

#include <algorithm>

#include "arch/metrics/metric.h"
#include "base/items.h"
#include "cli/command/words.h"
#include "cli/events/pfm_names.h"
#include "events/nearest_names.h"

namespace zs::cli {
namespace {

// What perf stat prints behind the counts of some events, wherever the events that it needs are counted beside them.
// source: perf-stat(1) of Linux 6.1, section "shadow statistics" as it prints them.

constexpr std::string_view kShare = "%";

// clang-format off
constexpr arch::Metric kRates[] = {
    // name, groups, unit, formula, what it is
    {"insn per cycle", "", "per cycle", "instructions / cycles", ""},
    {"stalled cycles per insn", "", "per instruction",
     "max(stalled-cycles-frontend, stalled-cycles-backend) / instructions", ""},
    {"frontend cycles idle",      "", kShare, "stalled-cycles-frontend / cycles", ""},
    {"backend cycles idle",       "", kShare, "stalled-cycles-backend / cycles", ""},
    {"of all branches",           "", kShare, "branch-misses / branches", ""},
    {"of all cache refs",         "", kShare, "cache-misses / cache-references", ""},
    {"of all L1-dcache accesses", "", kShare, "L1-dcache-load-misses / L1-dcache-loads", ""},
    {"of all L1-icache accesses", "", kShare, "L1-icache-load-misses / L1-icache-loads", ""},
    {"of all dTLB cache accesses", "", kShare, "dTLB-load-misses / dTLB-loads", ""},
    {"of all iTLB cache accesses", "", kShare, "iTLB-load-misses / iTLB-loads", ""},
    {"of all LL-cache accesses",  "", kShare, "LLC-load-misses / LLC-loads", ""},
};
// clang-format on

constexpr bool all_are_formulas() {
  for (const arch::Metric& rate : kRates) {
    if (!is_formula(rate.formula)) return false;
  }
  return true;
}
static_assert(all_are_formulas());

using profile::ValueClass;
using session::EventKind;
using session::ParsedEvent;

/// Counts just what its row says, in ring 3.
bool is_plain(const ParsedEvent& event) {
  return event.row != nullptr && (event.select.raw() & ~arch::PerfEvtSel::user.mask) == event.row->config();
}

bool count_the_same(const ParsedEvent& a, const ParsedEvent& b) {
  if (a.kind != EventKind::Hardware || b.kind != EventKind::Hardware) return a.kind == b.kind;
  if (a.select == b.select && a.row == b.row) return true;
  if (is_plain(a) && is_plain(b)) return arch::count_the_same(*a.row, *b.row);
  return a.select == b.select && a.meaning == b.meaning;
}

/// Groups and metrics of the model, each once.
std::vector<std::string> all_names(const arch::CpuModel& model) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (const arch::Metric& row : arch::metric_rows()) {
    if (!arch::has_metric(model, row)) continue;
    add(row.name);
    for (const std::string_view group : pieces_of(row.groups, ' ')) add(group);
  }
  return names;
}

Error no_metric(std::string_view name, const arch::CpuModel& model) {
  const bool known = std::ranges::any_of(arch::metric_rows(), [&](const arch::Metric& row) {
    return arch::equal_case_blind(row.name, name) || row.in_group(name);
  });
  const std::string what = "-M " + std::string(name) + ": ";
  if (known) return Error{what + std::string(model.name) + " has no events for it", "take another CPU model"};
  const std::string nearest = joined(session::nearest_names(name, all_names(model), 3), ", ");
  return Error{what + "no such metric or group of metrics",
               (nearest.empty() ? "" : "nearest: " + nearest + "; ") + "zeroskid list metrics shows them"};
}

/// All rows of `model` that go by `name`, which is a metric's, a group's or "all".
std::vector<const arch::Metric*> metrics_called(std::string_view name, const arch::CpuModel& model) {
  if (const arch::Metric* const metric = arch::find_metric(model, name)) return {metric};
  std::vector<const arch::Metric*> metrics;
  for (const arch::Metric& row : arch::metric_rows()) {
    const bool named = arch::equal_case_blind(name, "all") || row.in_group(name);
    if (named && arch::has_metric(model, row)) metrics.push_back(&row);
  }
  return metrics;
}

}  // namespace

std::optional<std::size_t> find_column(const CountedColumns& columns, std::string_view event,
                                       const arch::CpuModel& model) {
  const auto parsed = parse_events(std::string(event), model);
  if (!parsed) return std::nullopt;
  const ParsedEvent& wanted = parsed->front().events.front();
  const auto at = std::ranges::find_if(
      columns, [&](const std::optional<ParsedEvent>& column) { return column && count_the_same(*column, wanted); });
  if (at == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns.begin());
}

Result<std::vector<const arch::Metric*>> named_metrics(const std::vector<std::string>& lists,
                                                       const arch::CpuModel& model) {
  std::vector<const arch::Metric*> metrics;
  for (const std::string& list : lists) {
    for (const std::string_view name : items_of(list)) {
      const std::vector<const arch::Metric*> named = metrics_called(name, model);
      if (named.empty()) return no_metric(name, model);
      for (const arch::Metric* const metric : named) {
        if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
      }
    }
  }
  return metrics;
}

StatMetric bind_metric(const arch::Metric& metric, const arch::CpuModel& model,
                       const profile::CountedMetric::ColumnOf& column_of, const std::vector<StatEvent>& events) {
  StatMetric bound{.counted = {model, metric, column_of}};
  bound.event = bound.counted.columns().front();
  bound.value_class = bound.counted.value_class([&](std::size_t column) { return events[column].number_class; });
  if (bound.has_number()) return bound;
  for (const std::size_t column : bound.counted.columns()) {
    if (events[column].number_class != ValueClass::NotModelled) continue;
    bound.lacks = events[column].name + ", which " + events[column].reason;
    bound.event = column;
    break;
  }
  return bound;
}

std::vector<StatMetric> rates_of(const CountedColumns& columns, const std::vector<StatEvent>& events,
                                 const arch::CpuModel& model) {
  std::vector<StatMetric> rates;
  for (const arch::Metric& rate : kRates) {
    bool counted = true;
    (void)evaluate(rate.formula, [&](std::string_view event) {
      counted = counted && find_column(columns, event, model);
      return 1.0;
    });
    if (!counted) continue;
    rates.push_back(bind_metric(
        rate, model, [&](std::string_view event) { return *find_column(columns, event, model); }, events));
  }
  return rates;
}

}  // namespace zs::cli
