#include "session/units/unit_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "session/units/complete_part.h"

namespace zs::session {
namespace {

/// Fewer say nothing of how far they differ. chosen
constexpr std::size_t kFewestGroups = 4;
/// The 97.5 % quantile of the normal distribution.
constexpr double kNormal = 1.96;

/// The 97.5 % quantile of Student's t with so many degrees of freedom. source: the usual table.
double student_t(std::size_t freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
                               2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
                               2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.040};
  return kTable[std::min(std::max<std::size_t>(freedom, 1), std::size(kTable)) - 1];
}

/// Degrees of freedom of a variance that is estimated from `count` differences: where few of them make most of it, as
/// of what happens in few units, it is less sure than that of a normal distribution, whose kurtosis is 3.
/// source: O'Neill, "Some Useful Moment Results in Sampling Problems", American Statistician 68 (2014), result 7.
std::size_t freedom_of(double count, double squares, double fourths) {
  const double kurtosis = count * fourths / (squares * squares);
  const double freedom = 2 * count / (kurtosis - (count - 3) / (count - 1));
  return static_cast<std::size_t>(std::clamp(freedom, 1.0, count - 1));
}

}  // namespace

void UnitSums::add(const Unit& unit, const UnitCounts& from, const UnitCounts& to) {
  const std::uint64_t instructions = to.instructions - from.instructions;
  if (instructions == 0) return;
  std::vector<std::uint64_t> events = to.events;
  for (std::size_t i = 0; i < events.size(); ++i) events[i] -= from.events[i];
  if (unit.complete)
    add_complete(instructions, events);
  else
    add_unit(unit.number, unit.weight, instructions, events);
}

void UnitSums::add_unit(std::uint64_t number, std::uint64_t weight, std::uint64_t instructions,
                        std::span<const std::uint64_t> events) {
  CHECK(events.size() == groups_.size(), events.size());
  const std::size_t group = number % kGroups;
  const auto factor = static_cast<double>(weight);
  const double of_unit = factor * static_cast<double>(instructions);
  weights_[group] += of_unit;
  weight_squares_ += of_unit * of_unit;
  for (std::size_t event = 0; event < events.size(); ++event) {
    groups_[event][group] += factor * static_cast<double>(events[event]);
    seen_[event] += static_cast<double>(events[event]);
  }
  in_detail_ += instructions;
  ++units_;
}

void UnitSums::add_complete(std::uint64_t instructions, std::span<const std::uint64_t> events) {
  CHECK(events.size() == groups_.size(), events.size());
  const bool counts = complete_instructions_ >= kStartOfComplete;
  if (counts) pieces_ += static_cast<double>(instructions);
  for (std::size_t event = 0; event < events.size(); ++event) {
    const auto count = static_cast<double>(events[event]);
    complete_[event] += count;
    if (!counts) continue;
    in_pieces_[event].events += count;
    in_pieces_[event].squares += count * count / static_cast<double>(instructions);
  }
  complete_instructions_ += instructions;
  in_detail_ += instructions;
}

void UnitSums::add(const UnitSums& other) {
  if (groups_.empty() && other.events() != 0) *this = UnitSums(other.events());
  CHECK(other.events() == events(), other.events());
  instructions_ += other.instructions_;
  complete_instructions_ += other.complete_instructions_;
  in_detail_ += other.in_detail_;
  units_ += other.units_;
  weight_squares_ += other.weight_squares_;
  pieces_ += other.pieces_;
  for (std::size_t group = 0; group < kGroups; ++group) weights_[group] += other.weights_[group];
  for (std::size_t event = 0; event < events(); ++event) {
    complete_[event] += other.complete_[event];
    in_pieces_[event].events += other.in_pieces_[event].events;
    in_pieces_[event].squares += other.in_pieces_[event].squares;
    seen_[event] += other.seen_[event];
    for (std::size_t group = 0; group < kGroups; ++group) groups_[event][group] += other.groups_[event][group];
  }
}

void UnitSums::put_totals(std::span<const std::uint32_t> events, std::span<std::uint64_t> values) const {
  for (std::size_t i = 0; i < events.size(); ++i)
    values[events[i]] = static_cast<std::uint64_t>(std::llround(total(i)));
}

/// group: kGroups leaves none out
double UnitSums::total_without(std::size_t event, std::size_t group) const {
  const auto sum = [group](const Groups& groups) {
    double all = 0;
    for (std::size_t i = 0; i < kGroups; ++i) all += i == group ? 0 : groups[i];
    return all;
  };
  const double weight = sum(weights_);
  return complete_[event] + sampled() * (weight == 0 ? rate_at_first(event) : sum(groups_[event]) / weight);
}

/// Instructions that units stand for.
double UnitSums::sampled() const {
  return static_cast<double>(instructions_ - std::min(complete_instructions_, instructions_));
}

/// What stands for the rest of a run that ended in front of its first unit.
double UnitSums::rate_at_first(std::size_t event) const {
  return complete_instructions_ == 0 ? 0 : complete_[event] / static_cast<double>(complete_instructions_);
}

/// Where there are too few units to differ: any event may happen twice as often in the rest as it seems, or not at all.
double UnitSums::half_width_of_few(const Function& function, std::span<double> totals, double value) const {
  double half = 0;
  for (std::size_t event = 0; event < events(); ++event) {
    const double total = std::exchange(totals[event], 2 * totals[event] - complete_[event]);
    half = std::hypot(half, function(totals) - value);
    totals[event] = total;
  }
  return half;
}

UnitSums::Estimate UnitSums::estimate(const Function& function) const {
  std::vector<double> totals(events());
  const auto value_without = [&](std::size_t group) {
    for (std::size_t event = 0; event < events(); ++event) totals[event] = total_without(event, group);
    return function(totals);
  };
  Estimate estimate{.value = value_without(kGroups), .half_width = 0, .known = all_complete()};
  std::vector<double> replicates;
  for (std::size_t group = 0; group < kGroups; ++group) {
    if (weights_[group] != 0) replicates.push_back(value_without(group));
  }
  if (estimate.known) return estimate;
  if (replicates.size() < kFewestGroups) {
    static_cast<void>(value_without(kGroups));
    estimate.half_width = half_width_of_few(function, totals, estimate.value);
    estimate.known = complete_instructions_ != 0 && std::isfinite(estimate.half_width);
    return estimate;
  }
  const auto count = static_cast<double>(replicates.size());
  const double mean = std::accumulate(replicates.begin(), replicates.end(), 0.0) / count;
  double squares = 0, fourths = 0;
  for (const double replicate : replicates) {
    const double square = (replicate - mean) * (replicate - mean);
    squares += square;
    fourths += square * square;
  }
  const double t = student_t(squares == 0 ? replicates.size() - 1 : freedom_of(count, squares, fourths));
  estimate.half_width = t * std::sqrt(squares * (count - 1) / count);
  estimate.known = std::isfinite(estimate.half_width);
  return estimate;
}

UnitSums::Estimate UnitSums::estimate(std::size_t event) const {
  return estimate([event](std::span<const double> totals) { return totals[event]; });
}

// Of what was unpacked, events are zero, and squares those of the differences from the mean: the sum is the same.
double UnitSums::variance_of_pieces(std::size_t event) const {
  if (pieces_ == 0) return 0;
  const double mean = in_pieces_[event].events / pieces_;
  return std::max(in_pieces_[event].squares / pieces_ - mean * mean, 0.0);
}

double UnitSums::half_width_by_complete(std::size_t event) const {
  const double weight = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  if (weight == 0) return 0;
  const double units = weight * weight / weight_squares_;
  return kNormal * sampled() * std::sqrt(variance_of_pieces(event) / units);
}

std::vector<double> UnitSums::packed() const {
  std::vector<double> out{static_cast<double>(instructions_),
                          static_cast<double>(complete_instructions_),
                          static_cast<double>(in_detail_),
                          static_cast<double>(units_),
                          weight_squares_,
                          pieces_};
  out.insert(out.end(), weights_.begin(), weights_.end());
  for (std::size_t event = 0; event < events(); ++event) {
    out.push_back(pieces_ * variance_of_pieces(event));
    out.push_back(complete_[event]);
    out.push_back(seen_[event]);
    out.insert(out.end(), groups_[event].begin(), groups_[event].end());
  }
  return out;
}

bool UnitSums::unpack(std::span<const double> packed, std::size_t events) {
  constexpr double kMost = 1ULL << 53;  // what a double holds exactly
  constexpr std::size_t kWholeNumbers = 4;
  if (packed.size() != packed_size(events)) return false;
  if (!std::ranges::all_of(packed, [](double x) { return x >= 0 && x < 1e300; })) return false;
  if (!std::ranges::all_of(packed.first(kWholeNumbers), [](double x) { return x <= kMost; })) return false;
  *this = UnitSums(events);
  instructions_ = static_cast<std::uint64_t>(packed[0]);
  complete_instructions_ = static_cast<std::uint64_t>(packed[1]);
  in_detail_ = static_cast<std::uint64_t>(packed[2]);
  units_ = static_cast<std::uint64_t>(packed[3]);
  weight_squares_ = packed[4];
  pieces_ = packed[5];
  const double* at = packed.data() + kHead;
  const auto take = [&at](Groups& groups) {
    std::copy_n(at, kGroups, groups.begin());
    at += kGroups;
  };
  take(weights_);
  for (std::size_t event = 0; event < events; ++event) {
    in_pieces_[event].squares = *at++;
    complete_[event] = *at++;
    seen_[event] = *at++;
    take(groups_[event]);
  }
  return true;
}

}  // namespace zs::session
