#include "cli/stat/repeat_until.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace zs::cli {

bool RepeatUntil::reached(const StatReport& report) const {
  const auto value = [&](const StatRun& run) { return run.values[column]; };
  if (report.runs.size() < 2) return false;
  const bool all_the_same =
      std::ranges::all_of(report.runs, [&](const StatRun& run) { return value(run) == value(report.runs.front()); });
  constexpr std::size_t kFewest = 3;
  if (!all_the_same && report.runs.size() < kFewest) return false;
  return deviation_percent(report, column) <= percent;
}

std::string RepeatUntil::outcome(const StatReport& report) const {
  const double now = deviation_percent(report, column);
  const std::string runs = fmt::format("{} run{}", report.runs.size(), report.runs.size() == 1 ? "" : "s");
  return fmt::format("--repeat-until {}:{}: {} +-{:.2f}% after {}", event, percent,
                     reached(report) ? "reached:" : "not reached:", now, runs);
}

Result<RepeatUntil> parse_repeat_until(const std::string& spelling) {
  const std::string option = "--repeat-until " + spelling + ": ";
  const std::string hint = "EVENT:PERCENT, as in --repeat-until cycles:0.5";
  const std::size_t colon = spelling.rfind(':');  // an event may have modifiers
  if (colon == std::string::npos) return Error{option + "no percentage", hint};
  RepeatUntil until{.event = spelling.substr(0, colon)};
  if (until.event.empty()) return Error{option + "no event", hint};
  std::string number = spelling.substr(colon + 1);
  if (number.ends_with('%')) number.pop_back();
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, until.percent, std::chars_format::fixed);
  if (number.empty() || parsed.ec != std::errc{} || parsed.ptr != end)
    return Error{option + "'" + spelling.substr(colon + 1) + "' is no percentage", hint};
  if (!(until.percent >= 0)) return Error{option + "no deviation is below 0 %", hint};
  return until;
}

}  // namespace zs::cli
