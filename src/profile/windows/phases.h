// Phases: stretches of a curve in which all rates stay what they are. docs/phases.md tells the method.
//
// Change points by PELT. source: R. Killick, P. Fearnhead, I. A. Eckley, "Optimal Detection of Changepoints With a
// Linear Computational Cost", JASA 107 (2012): the exact optimum of the penalised cost, found fast by dropping
// candidates that can no longer win. Cost: normally distributed rates whose mean changes; penalty: the Bayesian
// information criterion.
#pragma once

#include <cstddef>
#include <vector>

#include "profile/windows/window_rates.h"

namespace zs::profile {

/// Points from `first` up to `last`, without it.
struct Phase {
  std::size_t first = 0, last = 0;
  bool operator==(const Phase&) const = default;
};

/// What is segmented: some series of the same length, standardised, and how much each point weighs.
struct Observations {
  std::vector<double> weights;              // by point; mean 1
  std::vector<std::vector<double>> series;  // by series, by point
  std::size_t points() const { return weights.size(); }
};

/// Sums that give the cost of any stretch in a time that depends on the number of series only.
class SegmentCosts {
 public:
  explicit SegmentCosts(const Observations& observations);
  /// The weighted squared distances of the points from their stretch's mean, over all series: for normal rates of
  /// variance 1, minus twice the log-likelihood, but for a constant.
  double operator()(std::size_t first, std::size_t last) const;

 private:
  std::vector<double> weights_, squares_;  // by point: sums of all before it
  std::vector<std::vector<double>> sums_;  // by series, by point
};

/// The segmentation of least cost plus `penalty` per segment; of several, the one whose last segments begin earliest.
std::vector<Phase> segments(const Observations& observations, double penalty);

/// Rates of the curve as observations: a series per metric whose standard deviation is at least kLeastVariation of its
/// mean, of mean 0 and deviation 1; a point weighs what it has of instructions.
Observations standardised(const Curve& curve);
/// chosen: a rate that varies less is steady for a person who reads a plot; without a limit the dithering of a counted
/// loop against the window length (one branch more or less) would be stretched to the scale of real changes.
inline constexpr double kLeastVariation = 0.01;

/// (series + 1) ln points: each change of phase adds a mean per series and a place.
double bic_penalty(const Observations& observations);

/// The phases of a curve; at least one.
std::vector<Phase> find_phases(const Curve& curve);
/// chosen: fewer points are one phase, because so few say nothing about the deviation that their changes are measured
/// with.
inline constexpr std::size_t kLeastPhasePoints = 8;
/// chosen: a stretch with less of the instructions is an event in a phase, not one of its own: the first windows of a
/// program are the dynamic loader's, and a steady program has one phase.
inline constexpr double kLeastPhaseShare = 0.01;
/// chosen: longer curves are folded to so many points first, which bounds the time (the worst case is quadratic) to
/// about a second; phases then begin at the folded points' places.
inline constexpr std::size_t kMostPhasePoints = 4096;

}  // namespace zs::profile
