// Numbers of a run of which only units were modelled, and how sure they are: counts of events and whatever is computed
// from several of them (session/units/unit_sums.h). Columns are those that a verb prints, of which some are estimates
// and others are exact.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/values/stat_metric.h"
#include "session/recording/warm_up_error.h"
#include "session/units/unit_sums.h"

namespace zs::cli {

struct EstimatedColumn {
  std::size_t place = 0;  // in UnitSums
  session::WarmUpError warm_up_error;
};

/// By column; nothing where the column is no estimate.
using EstimatedColumns = std::vector<std::optional<EstimatedColumn>>;

/// What was counted, of one run or of several together, of the whole program or of a thread.
struct Counted {
  std::vector<double> counts;                 // by column, in the mean of the runs
  const session::UnitSums* units = nullptr;   // of all runs, added up; null where nothing is an estimate
  const EstimatedColumns* columns = nullptr;  // with units
  double runs = 1;
};

/// A number, and what is known of it. Where nothing of it is estimated, or all was modelled, it is the number and no
/// more.
struct Estimate {
  double value = 0;                  // not a number where it divides by zero
  std::optional<double> half_width;  // of the 95 % interval, in the number's unit
  std::string too_few;  // why there is no useful number: "seen 12 times", "below 9,000"; then there is no interval

  bool has_number() const { return too_few.empty(); }
};

/// How often the event of a column happened.
Estimate estimate_of(const Counted& counted, std::size_t column);
/// Of a metric; not a number where an event of it has none.
Estimate estimate_of(const Counted& counted, const StatMetric& metric);

/// perf's two keys of a JSON object, and ours: the metric's class, what it lacks, and half of its interval. The value
/// is null where there is none.
void put_metric(const StatMetric& metric, const Estimate& value, profile::ValueClass value_class, report::Json& line);

/// What we add behind perf's columns of a count where there are estimates; empty in lines that have a metric alone.
struct CountColumns {
  std::string_view value_class = "";
  std::string half_width = "", percent_in_detail = "";
};
/// The end of a line of columns: perf's two of a metric, and `ours` with the half width of the metric's interval.
/// metric, ours  null: there are none
std::string end_of_columns(const StatMetric* metric, const Estimate& value, const CountColumns* ours,
                           const std::string& separator);

/// Whether something stands for more than itself: units were taken, and they are not all there was.
bool is_estimated(const session::UnitSums* units);

/// What was all modelled is no estimate.
profile::ValueClass class_of(const session::UnitSums* units, profile::ValueClass value_class);

/// How much was modelled, in percent of the instructions; 100 of none.
double percent_in_detail(const session::UnitSums& units);

/// "0.03", "0.7", "12": two digits, but no more than two behind the point.
std::string two_digits(double number);
/// "+- 0.7 %": of the value; "+- 0.12 points" of a share. "" without an interval.
std::string interval_text(const Estimate& estimate, bool share);

}  // namespace zs::cli
