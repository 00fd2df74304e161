// Where the units of a run lie of which only samples are modelled: stretches of instructions that the core model plays, each behind a
// stretch that warms it up, one in each period, at a place of it that is drawn anew. A fixed place would meet loops always alike.
// source: Wunderlich et al., "SMARTS" (ISCA 2003); units and periods as measured in docs/accuracy.md.
#pragma once

#include <cstdint>

#include "engine/observer.h"

namespace zs::session {

/// All in instructions of the whole process, but for units_per_period.
struct UnitOptions {
  std::uint64_t complete = 0;  // modelled from the first instruction on, in front of all periods
  std::uint64_t unit = 10'000;
  std::uint64_t warm_up =
      10'000;  // at least; and of a longer period a fiftieth, so that long runs are the better for it
  std::uint64_t first_period = 50'000;   // doubled whenever
  std::uint64_t units_per_period = 100;  // so many units have been taken, so that runs of any length have hundreds,
  std::uint64_t longest_period = 12'800'000;  // up to this
  bool operator==(const UnitOptions&) const = default;

  /// Whether a schedule can be made: units and their warm-up fit into every period, and periods are multiples of the unit.
  bool possible() const;
};

class UnitSchedule {
 public:
  /// options  possible()
  UnitSchedule(const UnitOptions& options, std::uint64_t seed);

  struct Stretch {
    engine::Phase phase = engine::Phase::FastForward;
    std::uint64_t instructions = 0;  // 1 or more
    bool complete = false;           // of phase Unit: it stands for itself alone
  };
  /// The stretch behind the last one that was told.
  Stretch next();
  /// How many instructions each one of the last unit stands for.
  std::uint64_t weight() const { return period_ / options_.unit; }
  /// Units told so far.
  std::uint64_t units() const { return units_; }

  /// The process is a copy of the one that began: from here on another stream of places, and nothing more is complete.
  void branch(std::uint64_t salt);

 private:
  std::uint64_t warm_up() const;

  UnitOptions options_;
  std::uint64_t random_;
  std::uint64_t period_;
  std::uint64_t units_ = 0, units_of_period_ = 0;
  std::uint64_t rest_ = 0;  // of the period that is under way, behind its unit
  bool warm_ = false;       // the warm-up has been told, its unit not yet
  bool placed_ = false;     // the warm-up comes next
};

}  // namespace zs::session
