#include "session/unit_schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace zs::session {

using engine::Phase;

bool UnitOptions::possible() const {
  return unit != 0 && units_per_period != 0 && first_period % unit == 0 && first_period >= unit + warm_up &&
         longest_period >= first_period;
}

UnitSchedule::UnitSchedule(const UnitOptions& options, std::uint64_t seed)
    : options_(options), random_(seed), period_(options.first_period) {
  CHECK(options.possible());
}

// source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), SplitMix64.
std::uint64_t UnitSchedule::draw(std::uint64_t below) {
  std::uint64_t z = random_ += 0x9E37'79B9'7F4A'7C15;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return (z ^ (z >> 31)) % below;
}

// chosen: with the unit, 2 % of a long run in detail.
std::uint64_t UnitSchedule::warm_up() const {
  constexpr std::uint64_t kShare = 50;
  return options_.warm_up == 0 ? 0 : std::max(options_.warm_up, period_ / kShare);
}

UnitSchedule::Stretch UnitSchedule::next() {
  if (const std::uint64_t complete = std::exchange(options_.complete, 0); complete != 0)
    return {Phase::Unit, complete, true};
  if (std::exchange(warm_, false)) {
    ++units_;
    ++units_of_period_;
    return {Phase::Unit, options_.unit};
  }
  if (!std::exchange(placed_, false)) {
    if (units_of_period_ == options_.units_per_period && 2 * period_ <= options_.longest_period) {
      period_ *= 2;
      units_of_period_ = 0;
    }
    const std::uint64_t room = period_ - options_.unit - warm_up();
    const std::uint64_t place = draw(room + 1);
    const std::uint64_t between = std::exchange(rest_, room - place) + place;
    if (between != 0) {
      placed_ = true;
      return {Phase::FastForward, between};
    }
  }
  warm_ = true;
  if (warm_up() != 0) return {Phase::WarmUp, warm_up()};
  return next();
}

void UnitSchedule::branch(std::uint64_t salt) {
  random_ ^= salt;
  draw(1);
  options_.complete = 0;
  warm_ = placed_ = false;
  rest_ = 0;
}

}  // namespace zs::session
