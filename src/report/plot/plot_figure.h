// What a plot shows, whatever draws it: the curve of one thread, its phases, and how its numbers are spelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/windows/phases.h"
#include "profile/windows/window_rates.h"
#include "profile/windows/window_table.h"

namespace zs::report {

struct Figure {
  std::string program, cpu_model;
  std::vector<std::string> notes;  // of the table, and what is left out of the figure
  profile::Curve curve;
  std::vector<profile::Phase> phases;

  /// "60 windows of thread 1000 (sort), 3,000,000 instructions; skylake-server@1"
  std::string subject() const;
};

/// thread  its number; without one, the thread with the most instructions
/// returns an error if the table has no window with an instruction, or none of that thread
Result<Figure> make_figure(const profile::WindowTable& table, std::optional<std::int32_t> thread,
                           const profile::CurveChoice& choice);

/// chosen: more entries of regions than a screen has columns; of more, the longest are kept and a note says so.
inline constexpr std::size_t kMostRegions = 2000;

/// A band across a figure: a phase, or one entry of a region.
struct Band {
  std::string name;
  std::uint64_t begin = 0, end = 0;  // places, within the curve
};
std::vector<Band> phase_bands(const Figure& figure);
/// By depth: a region inside another has a row below it; regions that only overlap do too.
std::vector<std::vector<Band>> region_bands(const Figure& figure);

/// Four significant digits, no exponent: "240.1", "0.01234", "12,340", "0".
std::string rate_text(double rate);

/// "0", "750 k", "1.5 M": a place, as short as it can be said exactly.
std::string place_text(std::uint64_t place);
/// The same with a unit where places are times: "0.25 s".
std::string place_text(std::uint64_t place, profile::Places places);
/// "3,000,000"; "0.402117 s".
std::string exact_place(std::uint64_t place, profile::Places places);
/// "3,000,000 instructions".
std::string length_text(std::uint64_t length, profile::Places places);

/// What places are called.
struct PlaceWords {
  std::string_view many, axis, first;
};
const PlaceWords& words_of(profile::Places places);

/// Places from `first` to `last`, a round number apart, at most `most` of them. first < last.
std::vector<std::uint64_t> place_ticks(std::uint64_t first, std::uint64_t last, std::size_t most);

/// Where the scale of a strip ends: the next round number from `rate` up; 1 for 0.
double round_up(double rate);
/// A round number, without more digits than it has: "2.5", "500".
std::string scale_text(double rate);

/// Least and largest rate of a modelled metric's points.
struct RateRange {
  double least = 0, largest = 0;
};
RateRange range_of(const profile::Metric& metric);

}  // namespace zs::report
