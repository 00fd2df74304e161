#include "cli/plot/plot_rates.h"

#include <algorithm>

#include "arch/metrics/metric.h"
#include "base/formula.h"
#include "cli/events/event_selection.h"
#include "cli/stat/stat_metrics.h"

namespace zs::cli {
namespace {

constexpr std::string_view kInstructions = "inst_retired.any";
constexpr std::string_view kAlways = "IPC";

/// The columns of a table by what they count.
class Columns {
 public:
  Columns(const profile::WindowTable& table, const arch::CpuModel& model) : table_(table), model_(model) {
    for (const profile::WindowEvent& event : table.events) {
      const auto parsed = session::parse_events(event.name, model);
      const bool one = parsed && parsed->size() == 1 && parsed->front().events.size() == 1;
      columns_.push_back(one ? std::optional(parsed->front().events.front()) : std::nullopt);
    }
  }

  std::optional<std::size_t> counted(std::string_view event) const { return find_column(columns_, event, model_); }
  std::optional<std::size_t> find(std::string_view event) const {
    const bool are_places = table_.places == profile::Places::Instructions;
    return are_places && event == kInstructions ? profile::length_column(table_) : counted(event);
  }
  /// The first event of the metric that the table does not count.
  std::optional<std::string_view> lacks(const arch::Metric& metric) const {
    std::optional<std::string_view> missing;
    evaluate(metric.formula, [&](std::string_view name) {
      const auto lacking = arch::names_metric(name) ? lacks(*arch::find_metric(model_, name))
                           : find(name)             ? std::nullopt
                                                    : std::optional(name);
      if (!missing) missing = lacking;
      return 1.0;
    });
    return missing;
  }
  profile::CountedMetric bind(const arch::Metric& metric) const {
    return {model_, metric, [&](std::string_view event) { return *find(event); }};
  }

 private:
  const profile::WindowTable& table_;
  const arch::CpuModel& model_;
  CountedColumns columns_;
};

}  // namespace

Result<profile::CurveChoice> choose_curves(const profile::WindowTable& table, const std::vector<std::string>& metrics) {
  profile::CurveChoice choice;
  // A table of another version, or of another program, has perf's names at least.
  const auto named = choose_cpu_model({.name = table.cpu_model});
  const arch::CpuModel& model = named ? **named : arch::default_cpu_model();
  const Columns columns(table, model);
  const auto asked = named_metrics(metrics, model);
  if (!asked) return asked.error();
  std::vector<const arch::Metric*> shown;
  const arch::Metric* const always = arch::find_metric(model, kAlways);
  if (always != nullptr && !columns.lacks(*always)) shown.push_back(always);
  for (const arch::Metric* const metric : *asked) {
    if (const auto missing = columns.lacks(*metric)) {
      return Error{
          "-M " + std::string(metric->name) + ": the table does not count " + std::string(*missing),
          "zeroskid stat -I 50000i --format csv -M " + std::string(metric->name) + " counts all that it needs"};
    }
    if (std::ranges::find(shown, metric) == shown.end()) shown.push_back(metric);
  }
  choice.own_curve.assign(table.events.size(), true);
  const auto hide = [&](std::string_view event) {
    if (const auto column = columns.counted(event)) choice.own_curve[*column] = false;
  };
  if (table.places == profile::Places::Instructions) hide(kInstructions);
  for (const arch::Metric* const metric : shown) {
    if (metric == always) hide("cpu_clk_unhalted.thread");
    choice.metrics.push_back(columns.bind(*metric));
  }
  return choice;
}

}  // namespace zs::cli
