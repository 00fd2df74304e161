// `stat --repeat-until EVENT:PERCENT`: runs the program again until the mean of an event is known so well, or `-r`
// times.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/stat/stat_page.h"

namespace zs::cli {

struct RepeatUntil {
  /// Runs at most, where -r does not say.
  static constexpr std::uint64_t kMostRuns = 100;

  std::string event;   // as it was typed
  double percent = 0;  // the standard deviation of the mean, in percent of the mean, as the page prints it behind +-
  std::size_t column = 0;

  /// Two runs that counted the same are enough; if they did not, three at least, because the deviation of two numbers
  /// says little.
  bool reached(const StatReport& report) const;
  /// What is said after the last run.
  std::string outcome(const StatReport& report) const;
};

/// EVENT:PERCENT or EVENT:PERCENT%. `column` is left to the caller.
Result<RepeatUntil> parse_repeat_until(const std::string& spelling);

}  // namespace zs::cli
