#include "report/plot/plot_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "base/units.h"

namespace zs::report {
namespace {

using profile::Curve;

std::string plural(std::size_t n, const char* noun) {
  return fmt::format("{} {}{}", with_thousands(n), noun, n == 1 ? "" : "s");
}

/// Round numbers between 1 and 10: what a scale may end at, so that it fits its curve; and what may lie between two
/// ticks, so that they can be counted.
constexpr std::array<double, 10> kScaleTops = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
constexpr std::array<double, 4> kTickSteps = {1, 2, 2.5, 5};

template <std::size_t N>
double round_up_to(const std::array<double, N>& factors, double number) {
  const double power = std::pow(10, std::floor(std::log10(number)));
  for (const double factor : factors) {
    if (number <= factor * power) return factor * power;
  }
  return 10 * power;
}

/// The longest stay, in their order.
void keep_longest(std::vector<profile::RegionSpan>& regions, std::size_t most) {
  std::vector<std::uint64_t> lengths;
  lengths.reserve(regions.size());
  for (const profile::RegionSpan& region : regions) lengths.push_back(region.end - region.begin);
  std::nth_element(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(most), lengths.end(),
                   std::greater<>());
  const std::uint64_t longest_left_out = lengths[most];
  const auto longer = static_cast<std::size_t>(
      std::count_if(lengths.begin(), lengths.end(), [=](std::uint64_t length) { return length > longest_left_out; }));
  std::size_t equal_ones = most - longer;  // that have room, first come first served
  std::erase_if(regions, [&](const profile::RegionSpan& region) {
    const std::uint64_t length = region.end - region.begin;
    if (length != longest_left_out) return length < longest_left_out;
    if (equal_ones == 0) return true;
    --equal_ones;
    return false;
  });
}

}  // namespace

std::string Figure::subject() const {
  const std::string windows = plural(curve.windows(), "window");
  if (cpu_model.empty()) {  // another tool's table
    return fmt::format("{}{}{}, {}", windows, curve.comm.empty() ? "" : " of ", curve.comm,
                       length_text(curve.length(), curve.places));
  }
  return fmt::format("{} of thread {} ({}), {}; {}", windows, curve.tid, curve.comm,
                     length_text(curve.length(), curve.places), cpu_model);
}

Result<Figure> make_figure(const profile::WindowTable& table, std::optional<std::int32_t> thread,
                           const profile::CurveChoice& choice) {
  std::vector<Curve> curves = profile::curves_of(table, choice);
  if (curves.empty()) {
    return Error{"there is no window with an instruction in it",
                 "zeroskid stat -I 50000i --format csv PROGRAM counts in windows"};
  }
  const std::size_t all = curves.size();
  if (thread) std::erase_if(curves, [&](const Curve& curve) { return curve.tid != *thread; });
  if (curves.empty()) return Error{fmt::format("no window is of thread {}", *thread), ""};
  auto longest = std::max_element(curves.begin(), curves.end(),
                                  [](const Curve& a, const Curve& b) { return a.length() < b.length(); });
  Figure figure{.program = table.program, .cpu_model = table.cpu_model, .notes = table.notes};
  figure.curve = std::move(*longest);
  figure.phases = profile::find_phases(figure.curve);
  if (all > 1) {
    figure.notes.push_back(fmt::format("one of {} threads, {}; --thread TID shows another", all,
                                       thread ? "as asked" : "with the most instructions"));
  }
  if (auto& regions = figure.curve.regions; regions.size() > kMostRegions) {
    figure.notes.push_back(fmt::format("of {} entries of regions the longest {} are drawn",
                                       with_thousands(regions.size()), with_thousands(kMostRegions)));
    keep_longest(regions, kMostRegions);
  }
  return figure;
}

std::vector<Band> phase_bands(const Figure& figure) {
  std::vector<Band> bands;
  for (std::size_t i = 0; i < figure.phases.size(); ++i) {
    bands.push_back({.name = std::to_string(i + 1),
                     .begin = figure.curve.points[figure.phases[i].first].start,
                     .end = figure.curve.points[figure.phases[i].last - 1].end});
  }
  return bands;
}

std::vector<std::vector<Band>> region_bands(const Figure& figure) {
  std::vector<std::vector<Band>> rows;
  for (const profile::RegionSpan& region : figure.curve.regions) {
    const Band band{.name = region.name,
                    .begin = std::max(region.begin, figure.curve.start()),
                    .end = std::min(region.end, figure.curve.end())};
    // Regions come by their begin: a row whose last band has ended is free.
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const std::vector<Band>& one) { return one.back().end <= band.begin; });
    if (row == rows.end()) {
      rows.push_back({band});
    } else {
      row->push_back(band);
    }
  }
  return rows;
}

std::string rate_text(double rate) {
  if (rate == 0) return "0";
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(rate)))) + 1;
  const int decimals = std::clamp(4 - before_point, 0, 6);
  if (decimals == 0) return with_thousands(static_cast<std::uint64_t>(std::llround(rate)));
  return fmt::format("{:.{}f}", rate, decimals);
}

std::string place_text(std::uint64_t place) {
  constexpr std::array<const char*, 5> kPrefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  std::uint64_t unit = 1;
  while (prefix + 1 < kPrefixes.size() && place / unit >= 1000) {
    unit *= 1000;
    ++prefix;
  }
  std::string text = std::to_string(place / unit);
  if (const std::uint64_t rest = place % unit; rest != 0) {
    std::string digits = fmt::format("{:0{}}", rest, 3 * prefix);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += '.' + digits;
  }
  return text + kPrefixes[prefix];
}

std::string place_text(std::uint64_t place, profile::Places places) {
  if (places != profile::Places::Nanoseconds) return place_text(place);
  return fmt::format("{:.6g} s", static_cast<double>(place) / 1e9);
}

std::string exact_place(std::uint64_t place, profile::Places places) {
  if (places != profile::Places::Nanoseconds) return with_thousands(place);
  return fmt::format("{:.6f} s", static_cast<double>(place) / 1e9);
}

std::string length_text(std::uint64_t length, profile::Places places) {
  switch (places) {
    case profile::Places::Nanoseconds: return exact_place(length, places);
    case profile::Places::Rows: return plural(length, "row");
    default: return plural(length, "instruction");
  }
}

const PlaceWords& words_of(profile::Places places) {
  static constexpr PlaceWords kWords[] = {
      {"instructions", "instructions of the thread", "first instruction"},
      {"time", "time since the beginning", "begins at"},
      {"rows", "rows of the table", "first row"},
  };
  return kWords[static_cast<std::size_t>(places)];
}

std::vector<std::uint64_t> place_ticks(std::uint64_t first, std::uint64_t last, std::size_t most) {
  CHECK(first < last && most != 0, first, last, most);
  const double wanted = static_cast<double>(last - first) / static_cast<double>(std::max<std::size_t>(most - 1, 1));
  const auto step = static_cast<std::uint64_t>(std::max(1.0, std::ceil(round_up_to(kTickSteps, wanted))));
  std::vector<std::uint64_t> ticks;
  for (std::uint64_t tick = (first + step - 1) / step * step; tick <= last && ticks.size() < most; tick += step) {
    ticks.push_back(tick);
  }
  return ticks;
}

double round_up(double rate) {
  if (rate <= 0) return 1;
  return round_up_to(kScaleTops, rate);
}

std::string scale_text(double rate) {
  if (rate < 10'000) return fmt::format("{:.4g}", rate);
  const auto whole = static_cast<std::uint64_t>(std::llround(rate));
  return rate < 10'000'000 ? with_thousands(whole)
                           : place_text(whole);  // "2.5 M": a long number has no room at an axis
}

RateRange range_of(const profile::Metric& metric) {
  RateRange range{.least = metric.rate(0, 1), .largest = metric.rate(0, 1)};
  for (std::size_t i = 1; i < metric.points(); ++i) {
    const double rate = metric.rate(i, i + 1);
    range = {.least = std::min(range.least, rate), .largest = std::max(range.largest, rate)};
  }
  return range;
}

}  // namespace zs::report
