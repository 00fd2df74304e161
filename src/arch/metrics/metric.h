// A metric: a number that people reason with, computed from what a CPU model's events counted. Rows follow the vendor's
// published metric definitions; where an event that those use is not modelled, a row says what it leaves out.
//
// A row is not bound to a CPU model. Several rows may share a name: a model has the first one all of whose events it
// has. Names of events that differ between generations are aliases in the event tables, so most rows serve all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "arch/events/event.h"
#include "arch/events/tables.h"
#include "base/formula.h"
#include "base/items.h"

namespace zs::arch {

struct Metric {
  std::string_view name;     // begins with a capital letter, which no event does
  std::string_view groups;   // separated by one space
  std::string_view unit;     // for people; from "%" on: the formula gives a share, and is shown in percent
  std::string_view formula;  // over names of events and of other metrics; see base/formula.h
  std::string_view description;

  // Of a node of the top-down tree.
  std::string_view parent = "";  // the node that it is a part of; "" at level 1
  double above = 0;              // from this share on it is worth a look, if its parent is

  std::string_view unless = "";  // models that have this event do not take the row

  constexpr bool is_share() const { return unit.starts_with('%'); }
  constexpr bool in_group(std::string_view group) const;
};

constexpr bool Metric::in_group(std::string_view group) const {
  for (const std::string_view one : pieces_of(groups, ' ')) {
    if (equal_case_blind(one, group)) return true;
  }
  return false;
}

/// Every row. A name's rows stand in the order of preference; names stand in the order in which people read them.
std::span<const Metric> metric_rows();

/// The row of that name that `model` has, upper or lower case; null if it has none. Of rows whose events it has, one
/// whose events all have a number comes before one that lacks some.
const Metric* find_metric(const CpuModel& model, std::string_view name);

/// Whether `row` is what the model calls by its name.
inline bool has_metric(const CpuModel& model, const Metric& row) { return find_metric(model, row.name) == &row; }

/// Whether a name in a formula is that of another metric.
constexpr bool names_metric(std::string_view name) {
  return name.front() >= 'A' && name.front() <= 'Z' &&
         name.find('-') == std::string_view::npos;  // "LLC-loads" is perf's
}

/// The metric's value for what was counted, not a number where it divides by zero.
/// count_of  double(std::string_view event): how often, for each event that its formula and those of metrics in it
///           name.
///           The metric's row must be one of `model`'s.
template <typename CountOf>
double value_of(const CpuModel& model, const Metric& metric, const CountOf& count_of) {
  return *evaluate(metric.formula, [&](std::string_view name) -> double {
    return names_metric(name) ? value_of(model, *find_metric(model, name), count_of) : count_of(name);
  });
}

/// Whether two rows of one model's table count the same, so that one may stand for the other: its fixed counter's row
/// and the programmable one.
bool count_the_same(const Event& a, const Event& b);

}  // namespace zs::arch
