#include "session/units/unit_schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/splitmix.h"

namespace zs::session {

using engine::Phase;

bool UnitOptions::possible() const {
  return unit != 0 && fewest_units != 0 && modelled_one_in != 0 && first_period % unit == 0 &&
         first_period >= unit + warm_up && longest_period >= first_period;
}

UnitSchedule::UnitSchedule(const UnitOptions& options)
    : options_(options), random_(options.seed), period_(options.first_period), complete_(options.complete) {
  CHECK(options.possible());
}

UnitSchedule::Stretch UnitSchedule::next() {
  const Stretch stretch = following();
  reported_ += stretch.instructions;
  if (stretch.phase != Phase::FastForward && !stretch.complete) {
    modelled_ += stretch.instructions;
    if (is_dense()) modelled_of_new_code_ += stretch.instructions;
  }
  return stretch;
}

// Every place of a period is as likely to be in a unit as every other, so a unit may begin anywhere in it, reach over
// its end, and have its warm-up in the period before: a loop that is as long as the period would tell the difference.
// Where units come close to each other the model is warm, and what is missing of the warm-up does not matter; those
// that would overlap stand behind one another.
UnitSchedule::Stretch UnitSchedule::following() {
  if (complete_ != 0) {
    const std::uint64_t piece = pieces_ ? std::min(options_.unit, complete_) : complete_;
    complete_ -= piece;
    begin_periods();
    return {Phase::Unit, piece, true};
  }
  if (!std::exchange(placed_, true)) place_unit();
  if (to_warm_up_ != 0) {
    const std::uint64_t skipped = std::min(to_warm_up_, std::max(kPiece, reported_ / kPiecesOfRun));
    to_warm_up_ -= skipped;
    rest_of_last_ -= static_cast<std::int64_t>(skipped);
    return {Phase::FastForward, skipped};
  }
  if (const std::uint64_t warmed = std::exchange(warm_up_, 0); warmed != 0) return {Phase::WarmUp, warmed};
  placed_ = false;
  ++units_;
  ++units_of_period_;
  return {Phase::Unit, options_.unit};
}

void UnitSchedule::place_unit() {
  if (is_dense())
    grow_again();
  else if (has_fewest() || (may_shorten() && trend_ == Trend::Shorter))
    follow_trend();
  rest_of_last_ = rest_;
  const auto place = static_cast<std::int64_t>(splitmix64(random_) % period_);
  const std::int64_t before = std::max<std::int64_t>(rest_ + place, 0);
  rest_ += static_cast<std::int64_t>(period_) - static_cast<std::int64_t>(options_.unit) - before;
  warm_up_ = std::min(options_.warm_up, static_cast<std::uint64_t>(before));
  to_warm_up_ = static_cast<std::uint64_t>(before) - warm_up_;
}

void UnitSchedule::follow_trend() {
  const std::uint64_t before = period_;
  const std::uint64_t fewest = options_.insists ? 8 * options_.fewest_periods : options_.fewest_periods;
  const std::uint64_t longest =
      fewest == 0 ? options_.longest_period : std::min(options_.longest_period, reported_ / fewest);
  if (trend_ == Trend::Longer && 2 * period_ <= longest) period_ *= 2;
  if (trend_ == Trend::Shorter && period_ / 2 >= options_.first_period) period_ /= 2;
  if (period_ != before) units_of_period_ = 0;
}

void UnitSchedule::looked_at_code(arch::CodeAge age) {
  constexpr std::uint64_t kRare = 16, kWorthIt = 4, kOneIn = 100;  // chosen
  if (to_warm_up_ == 0) return;                                    // the place of a unit decides that we are here
  ++looks_;
  if (age == arch::CodeAge::Old || (age == arch::CodeAge::New && rest_of_last_ <= 0)) return;
  const bool rare = kRare * looks_at_new_code_++ <= looks_;
  const std::uint64_t most =
      std::min((options_.modelled_at_first + reported_ / options_.modelled_one_in) / 4, reported_ / kOneIn);
  if (!rare || options_.budget != 0 || period_ < kWorthIt * options_.first_period ||
      modelled_of_new_code_ * images_ > most)
    return;
  period_of_old_code_ = std::max(period_of_old_code_, period_);
  period_ = options_.first_period;
  units_of_period_ = 0;
  begin_periods();
  rest_ = static_cast<std::int64_t>(options_.warm_up);  // a unit so near would be on its way, and not be asked
}

void UnitSchedule::grow_again() {
  constexpr std::uint64_t kOfEachLength = 2;  // chosen
  if (units_of_period_ < kOfEachLength) return;
  units_of_period_ = 0;
  period_ *= 2;
  if (period_ >= period_of_old_code_) period_of_old_code_ = 0;
}

void UnitSchedule::branch(std::uint64_t images) {
  std::uint64_t salt = images;
  random_ ^= splitmix64(salt);
  complete_ = 0;
  images_ = images;
  constexpr std::uint64_t kMostAtFirstPeriod = 8;  // chosen: they take some five units, which are 0.5 s of CPU time
  const std::uint64_t before = period_;
  while (period_ * kMostAtFirstPeriod < options_.first_period * images && 2 * period_ <= options_.longest_period)
    period_ *= 2;
  if (period_ != before) units_of_period_ = 0;
  begin_periods();
}

void UnitSchedule::begin_periods() {
  to_warm_up_ = warm_up_ = 0;
  placed_ = false;
  rest_ = rest_of_last_ = 0;
}

}  // namespace zs::session
