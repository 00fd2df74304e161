#include "session/unit_schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/splitmix.h"

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
    const std::uint64_t place = splitmix64(random_) % (room + 1);
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
  splitmix64(random_);
  options_.complete = 0;
  warm_ = placed_ = false;
  rest_ = 0;
}

}  // namespace zs::session
