// The curves of a table of windows: for each thread, how often its events happened per 1000 instructions, from window
// to window. A rate is kept as two counts, so that the rate of any stretch is exact, however windows are taken
// together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/windows/counted_metric.h"
#include "profile/windows/window_table.h"

namespace zs::profile {

/// Some windows of one thread that follow one another; most often one.
struct CurvePoint {
  std::uint64_t start = 0, end = 0;  // as the table's places; end > start
  std::size_t windows = 1;
};

/// The unit of an event's own curve, and how many places one has.
struct PlaceRate {
  std::string_view unit;
  double places;
};
constexpr PlaceRate rate_over(Places places) {
  switch (places) {
    case Places::Nanoseconds: return {"per second", 1e9};
    case Places::Rows: return {"per row", 1};
    default: return {"per 1000 instructions", 1000};
  }
}

/// What is drawn of a table of windows besides each event per 1000 instructions.
struct CurveChoice {
  std::vector<CountedMetric> metrics;  // over the table's columns and length_column(); drawn first
  std::vector<bool> own_curve;         // by column; empty: each has one
};
/// The column that a metric takes for the instructions of a window: they are its length, counted or not.
std::size_t length_column(const WindowTable& table);

/// One curve: events per 1000 instructions, or a metric.
struct Metric {
  std::string name;  // "branches", as the user spelled it; "IPC"
  std::string_view unit = rate_over(Places::Instructions).unit;
  ValueClass value_class = ValueClass::Exact;
  std::optional<CountedMetric> formula;  // none: `factor` x the first of `counts` / the second
  double factor = 1000;
  /// By what the rate is made of (the formula's columns, in their order), by point. Empty: not modelled.
  std::vector<std::vector<std::uint64_t>> counts;

  std::string label() const;
  bool modelled() const { return !counts.empty(); }
  std::size_t points() const { return modelled() ? counts.front().size() : 0; }
  /// sums: of each of `counts`, over some points. 0 where it divides by 0
  double value(std::span<const double> sums) const;
  /// Of the points from `first` up to `last`, without it. CHECKs that it is modelled.
  double rate(std::size_t first, std::size_t last) const;
};

struct Curve {
  std::int32_t pid = 0, tid = 0;
  std::string comm;  // of its last window
  Places places = Places::Instructions;
  std::vector<CurvePoint> points;   // by place; not empty
  std::vector<Metric> metrics;      // those of CurveChoice, then the events in the table's order
  std::vector<RegionSpan> regions;  // of this thread, by place, the outer one first

  std::uint64_t start() const { return points.front().start; }
  std::uint64_t end() const { return points.back().end; }
  std::uint64_t length() const { return end() - start(); }
  std::size_t windows() const;
};

/// One for each thread, in the order in which their first windows closed. Windows without an instruction are left out:
/// they have no rate. A thread number that the system used again makes a curve of its own.
std::vector<Curve> curves_of(const WindowTable& table, const CurveChoice& choice);

/// The same curve with at most `most` points: as many neighbours as that takes become one, and all as many.
Curve folded(const Curve& curve, std::size_t most);

}  // namespace zs::profile
