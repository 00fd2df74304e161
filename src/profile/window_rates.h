// The curves of a table of windows: for each thread, how often its events happened per 1000 instructions, from window to
// window. A rate is kept as two counts, so that the rate of any stretch is exact, however windows are taken together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/window_table.h"

namespace zs::profile {

/// Some windows of one thread that follow one another; most often one.
struct CurvePoint {
  std::uint64_t start = 0, end = 0;  // places in the thread's instructions; end > start
  std::size_t windows = 1;
};

/// The two units of a metric.
inline constexpr std::string_view kPerThousand = "per 1000 instructions";
inline constexpr std::string_view kPerCycle = "per cycle";

/// One curve: scale x numerator / denominator.
struct Metric {
  std::string name;       // "branches", as the user spelled it; "instructions"
  std::string_view unit;  // kPerThousand, kPerCycle
  ValueClass value_class = ValueClass::Exact;
  double scale = 1000;
  std::vector<std::uint64_t> numerators, denominators;  // by point; empty: not modelled

  std::string label() const { return name + " " + std::string(unit); }
  bool modelled() const { return !numerators.empty(); }
  /// Of the points from `first` up to `last`, without it. CHECKs that it is modelled. 0 where the denominator is 0.
  double rate(std::size_t first, std::size_t last) const;
};

struct Curve {
  std::int32_t pid = 0, tid = 0;
  std::string comm;                 // of its last window
  std::vector<CurvePoint> points;   // by place; not empty
  std::vector<Metric> metrics;      // instructions per cycle first, then the events in the table's order
  std::vector<RegionSpan> regions;  // of this thread, by place, the outer one first

  std::uint64_t start() const { return points.front().start; }
  std::uint64_t end() const { return points.back().end; }
  std::uint64_t instructions() const { return end() - start(); }
  std::size_t windows() const;
};

/// One for each thread, in the order in which their first windows closed. Windows without an instruction are left out: they
/// have no rate. A thread number that the system used again makes a curve of its own.
std::vector<Curve> curves_of(const WindowTable& table);

/// The same curve with at most `most` points: as many neighbours as that takes become one, and all as many.
Curve folded(const Curve& curve, std::size_t most);

}  // namespace zs::profile
