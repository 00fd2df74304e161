// Where the units of a run lie of which only samples are modelled: stretches of instructions that the core model plays,
// each behind a stretch that warms it up, one in each period, at a place of it that is drawn anew. A fixed place would
// meet loops always alike. source: Wunderlich et al., "SMARTS" (ISCA 2003); units and periods as measured in
// docs/models/estimates.md.
#pragma once

#include <cstdint>

#include "arch/core_feed.h"
#include "engine/observer.h"

namespace zs::session {

/// All in instructions of the whole process, but for numbers of units.
struct UnitOptions {
  std::uint64_t complete = 0;                // modelled from the first instruction on, in front of all periods,
  std::uint64_t most_complete = 40'000'000;  // and up to here where units would say little; where `complete` is not 0
  std::uint64_t unit = 50'000;
  std::uint64_t warm_up = 100'000;
  std::uint64_t first_period = 200'000;         // doubled behind
  std::uint64_t fewest_units = 8;               // of one length, if the first estimate is as sure as is wanted
  std::uint64_t modelled_at_first = 6'000'000;  // or units and warm-ups were more than this, not counting `complete`,
  std::uint64_t modelled_one_in = 400;          // and this part of the run so far,
  std::uint64_t longest_period = 819'200'000;   // up to this, and to what ran so far divided by
  std::uint64_t fewest_periods = 8;             // this, or by eight times this if it insists; 0: without that bound
  std::uint64_t wanted_error = 30;              // half of the interval, in thousandths of the estimate
  bool insists = false;  // more is modelled until the estimate is as sure as that, whatever it costs
  /// In hundredths of native: periods follow what the run has cost so far (session/units/unit_budget.h). 0: nothing
  /// depends on the clock.
  std::uint64_t budget = 0;
  std::uint64_t seed = 1;  // of the places
  bool operator==(const UnitOptions&) const = default;

  /// Whether a schedule can be made: units and their warm-up fit into every period, and periods are multiples of the
  /// unit.
  bool possible() const;
};

/// Of the periods.
enum class Trend : std::uint8_t { Shorter, Same, Longer };

class UnitSchedule {
 public:
  /// options  possible()
  explicit UnitSchedule(const UnitOptions& options);
  const UnitOptions& options() const { return options_; }

  struct Stretch {
    engine::Phase phase = engine::Phase::FastForward;
    std::uint64_t instructions = 0;  // 1 or more
    bool complete = false;           // of phase Unit: it stands for itself alone
  };
  /// The stretch behind the last one that was told.
  Stretch next();
  /// What becomes of periods as soon as there are units enough of one length.
  void set_trend(Trend trend) { trend_ = trend; }
  /// Whether that depends on how sure the first estimate is; if so, how sure it is decides.
  bool asks_how_sure() const { return options_.budget == 0 && (has_fewest() || may_shorten()); }
  void set_sure(bool sure) {
    const bool enough = !options_.insists && is_costly();
    trend_ = sure || enough ? Trend::Longer : Trend::Shorter;
  }
  /// Where a piece of what is skipped ends. Code that no unit and no warm-up of a period before has met may be over
  /// before the period is: so periods begin anew, short ones, which soon grow to what they were. Those so far keep what
  /// they brought: each place of them was as likely to be in a unit as it says. That holds because this period's own
  /// unit does not decide it. Where much of the code is new, it says nothing.
  void looked_at_code(arch::CodeAge age);
  /// What comes next is modelled whole.
  void go_on_complete() { complete_ = kCompleteAgain; }
  /// What is complete is told in pieces as long as a unit, or in one.
  void set_pieces(bool small) { pieces_ = small; }
  /// Behind what was complete: no more is to come.
  bool complete_is_over() const { return complete_ == 0; }
  /// So many units are modelled before the run's length matters.
  std::uint64_t units_at_first() const { return options_.modelled_at_first / (options_.unit + options_.warm_up); }
  /// How many instructions each one of the last unit stands for.
  std::uint64_t weight() const { return period_ / options_.unit; }
  /// Units told so far.
  std::uint64_t units() const { return units_; }

  /// The process is not the first: nothing more is complete, places are drawn from another stream, and behind the first
  /// few images periods begin the longer the more there have been. Else most of a program of many short processes would
  /// be modelled, each of them anew.
  /// images  that began on the way to this one, 1 or more
  void branch(std::uint64_t images);

 private:
  /// At once, and not behind units enough of a length that is too long.
  bool may_shorten() const { return options_.insists && units_ >= options_.fewest_units; }
  bool has_fewest() const { return units_of_period_ >= options_.fewest_units; }
  bool is_costly() const { return modelled_ > options_.modelled_at_first + reported_ / options_.modelled_one_in; }
  static constexpr std::uint64_t kCompleteAgain = 2'000'000;  // chosen: longer than what is of the moment

  static constexpr std::uint64_t kPiece = 500'000, kPiecesOfRun = 4'000;  // what is skipped, at least, and at most
  bool is_dense() const { return period_of_old_code_ != 0; }
  void grow_again();
  Stretch following();
  void begin_periods();
  void follow_trend();
  void place_unit();

  UnitOptions options_;
  std::uint64_t random_;
  std::uint64_t period_;
  std::uint64_t units_ = 0, units_of_period_ = 0;
  std::uint64_t complete_;  // to come, whatever periods would have
  bool pieces_ = true;
  std::int64_t rest_ = 0;          // of the period, behind its unit; below zero: that reaches into the next
  std::int64_t rest_of_last_ = 0;  // of the period of the last unit, from here
  bool placed_ = false;            // a unit, which comes behind
  std::uint64_t to_warm_up_ = 0, warm_up_ = 0;
  std::uint64_t reported_ = 0, modelled_ = 0;  // instructions
  std::uint64_t period_of_old_code_ = 0;       // to which periods grow again; 0: they have
  std::uint64_t modelled_of_new_code_ = 0;     // instructions, meanwhile
  std::uint64_t looks_ = 0, looks_at_new_code_ = 0;
  std::uint64_t images_ = 1;
  Trend trend_ = Trend::Longer;
};

}  // namespace zs::session
