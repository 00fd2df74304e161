#include "cli/run/detail_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "cli/values/estimate.h"
#include "profile/perf_data/recording.h"
#include "session/driver/core_choice.h"

namespace zs::cli {
namespace {

using session::Detail;
using session::RecordingConfig;
using session::UnitOptions;

constexpr std::string_view kSampled = "sampled";
/// Modelled in front of all units, so that short programs are complete. chosen: some tenths of a second. The first
/// periods are modelled nearly whole in any case, so that up to there units cost nearly as much and tell less.
constexpr std::uint64_t kCompleteAtFirst = 10'000'000;
/// The same where --units leaves it out, or a budget is to be kept.
constexpr std::uint64_t kCompleteBesideWishes = 2'000'000;
constexpr std::uint64_t kMostInstructions = std::uint64_t{1} << 53;
constexpr std::uint32_t kUsualCores = 8;  // chosen: as many threads as most programs have at work

struct NamedDetail {
  std::string_view name;
  Detail detail;
};
constexpr NamedDetail kDetails[] = {{"exact", Detail::Exact}, {"full", Detail::Full}};

/// The numbers of instructions in UNIT:WARM_UP:FIRST:LONGEST[:COMPLETE]; nothing if that is not what it is.
std::optional<std::vector<std::uint64_t>> numbers_in(std::string_view text) {
  constexpr std::size_t kLeast = 4, kMost = 5;
  std::vector<std::uint64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();;) {
    std::uint64_t& number = numbers.emplace_back();
    const auto [behind, failure] = std::from_chars(at, end, number);
    if (failure == std::errc::invalid_argument || numbers.size() > kMost) return std::nullopt;
    if (failure == std::errc::result_out_of_range) number = UINT64_MAX;
    if (behind == end) break;
    if (*behind != ':') return std::nullopt;
    at = behind + 1;
  }
  if (numbers.size() < kLeast) return std::nullopt;
  numbers.resize(kMost, kCompleteBesideWishes);
  return numbers;
}

Result<UnitOptions> parse_units(const std::string& text) {
  const std::string what = "--units " + text + ": ";
  const UnitOptions usual;
  const auto numbers = numbers_in(text);
  if (!numbers) {
    return Error{what + "not UNIT:WARM_UP:FIRST:LONGEST[:COMPLETE], whole numbers of instructions",
                 fmt::format("the usual ones: --units {}:{}:{}:{}:{}", usual.unit, usual.warm_up, usual.first_period,
                             usual.longest_period, kCompleteBesideWishes)};
  }
  for (const std::uint64_t number : *numbers) {
    if (number > kMostInstructions)
      return Error{what + std::to_string(number) + " is too large", "at most " + std::to_string(kMostInstructions)};
  }
  UnitOptions units;
  units.unit = (*numbers)[0];
  units.warm_up = (*numbers)[1];
  units.first_period = (*numbers)[2];
  units.longest_period = (*numbers)[3];
  units.complete = (*numbers)[4];
  if (units.unit == 0) return Error{what + "a unit of no instructions measures nothing", "UNIT is at least 1"};
  if (units.first_period % units.unit != 0) {
    return Error{fmt::format("{}FIRST, {}, is no multiple of UNIT, {}", what, units.first_period, units.unit),
                 fmt::format("{}, for instance", (units.first_period / units.unit + 1) * units.unit)};
  }
  if (units.first_period < units.unit + units.warm_up) {
    return Error{fmt::format("{}a unit and its warm-up, {} instructions, do not fit in FIRST, {}", what,
                             units.unit + units.warm_up, units.first_period),
                 "FIRST is at least UNIT and WARM_UP together"};
  }
  if (units.longest_period < units.first_period) {
    return Error{fmt::format("{}LONGEST, {}, is below FIRST, {}", what, units.longest_period, units.first_period),
                 "periods only grow: LONGEST is at least FIRST"};
  }
  return units;
}

/// In thousandths.
Result<std::uint64_t> parse_error(const std::string& text) {
  constexpr double kLeast = 0.1, kMost = 50;
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  const auto percent = whole_number<double>(number);
  if (!percent) return Error{"--error " + text + ": not a percentage", "--error 2%"};
  if (!(*percent >= kLeast && *percent <= kMost))
    return Error{"--error " + text + ": cannot be asked for", "from 0.1% to 50%"};
  return static_cast<std::uint64_t>(std::lround(10 * *percent));
}

/// In hundredths.
Result<std::uint64_t> parse_budget(const std::string& text) {
  constexpr double kLeast = 2, kMost = 1000;
  std::string_view number = text;
  if (number.ends_with('x')) number.remove_suffix(1);
  const auto times = whole_number<double>(number);
  if (!times) return Error{"--budget " + text + ": not a number of times native", "--budget 3x"};
  if (!(*times >= kLeast && *times <= kMost)) {
    return Error{"--budget " + text + ": cannot be kept",
                 "from 2x, since counting between units takes about 1.4 times native, to 1000x"};
  }
  return static_cast<std::uint64_t>(std::lround(100 * *times));
}

/// What steers how many units are taken.
Result<void> take_steering(const RunOptions& options, UnitOptions& units) {
  constexpr std::uint64_t kUnitsPerDecision = 4;  // chosen
  units.seed = options.seed;
  if (!options.error.empty() && !options.budget.empty())
    return Error{"--error and --budget exclude each other", "a budget says how sure numbers can become"};
  if (!options.error.empty()) {
    const auto error = parse_error(options.error);
    if (!error) return error.error();
    units.wanted_error = *error;
    units.insists = true;
  }
  if (options.budget.empty()) return {};
  if (options.virtual_time) {
    return Error{"--budget and --virtual-time exclude each other: a budget goes by the clock, and no run repeats",
                 "--units says how many units are taken, by instructions"};
  }
  const auto budget = parse_budget(options.budget);
  if (!budget) return budget.error();
  units.budget = *budget;
  units.fewest_units = kUnitsPerDecision;
  return {};
}

/// Why the run cannot be sampled; nothing if it can.
Result<void> can_be_sampled(const RunOptions& options, const RecordingConfig& config, const std::string& needs_all) {
  const char* const kComplete = "--detail complete models all of it";
  if (config.detail == Detail::Exact) {
    return Error{"--detail sampled: no event needs the model: all of them are counted exactly",
                 "leave --detail out, or add an event that is modelled (`zeroskid list`): cycles"};
  }
  if (!needs_all.empty()) {
    return Error{needs_all + " and --detail sampled exclude each other: it needs every instruction modelled",
                 kComplete};
  }
  if (options.precise_only) return Error{"--precise-only and --detail sampled exclude each other", kComplete};
  RecordingConfig sampled = config;
  sampled.in_units = true;
  if (const std::size_t events = sampled.estimated_events().size(); events > session::kMostEstimated) {
    return Error{fmt::format("--detail sampled: {} events would be estimates", events),
                 fmt::format("at most {}; {}", session::kMostEstimated, kComplete)};
  }
  return {};
}

/// The shortest window whose periods are at least so many instructions; each has units enough for an interval.
constexpr std::uint64_t kUnitsPerWindow = 12, kMostUnitsPerWindow = 32;  // chosen
/// Longer ones only where a window has more than kMostUnitsPerWindow: with this one 1.2 % are in detail.
constexpr std::uint64_t kUsualLongestPeriod = 12'800'000;
/// What `auto` samples: 10 % in detail, or less.
constexpr std::uint64_t kShortestSampledWindow = 32'000'000;

/// Periods grow no longer than lets each window have its units.
void fit_to_windows(std::uint64_t window, UnitOptions& units) {
  const std::uint64_t longest =
      std::max(window / kMostUnitsPerWindow, std::min(window / kUnitsPerWindow, kUsualLongestPeriod));
  units.longest_period = std::clamp(longest, units.first_period, units.longest_period);
}

Result<void> fit_windows(const RunOptions& options, const RecordingConfig& config, UnitOptions& units) {
  if (!config.has_windows()) return {};
  if (!options.budget.empty())
    return Error{"--budget and -I exclude each other: every window has its units", "--units says how many are taken"};
  const std::uint64_t window = config.shortest_window();
  if (window / kUnitsPerWindow < units.first_period) {
    return Error{fmt::format("--detail sampled: windows of {} have fewer than {} units", with_thousands(window),
                             kUnitsPerWindow),
                 fmt::format("-I {}i, or more; or --detail complete, which models all of it",
                             kUnitsPerWindow * units.first_period)};
  }
  fit_to_windows(window, units);
  return {};
}

Result<void> take_units(const RunOptions& options, RecordingConfig& config) {
  config.units.complete = options.budget.empty() ? kCompleteAtFirst : kCompleteBesideWishes;
  if (!options.units.empty()) {
    const auto units = parse_units(options.units);
    if (!units) return units.error();
    config.units = *units;
  }
  if (auto steered = take_steering(options, config.units); !steered) return steered;
  if (auto fits = fit_windows(options, config, config.units); !fits) return fits;
  config.in_units = true;
  return {};
}

/// A depth by name is complete.
Result<void> take_depth(const std::string& name, RecordingConfig& config) {
  const auto named = std::ranges::find(kDetails, name, &NamedDetail::name);
  if (named == std::end(kDetails)) {
    return Error{"--detail " + name + ": no such detail",
                 "auto, complete or sampled; complete at a depth: exact or full"};
  }
  for (const session::EventSpec& event : config.events) {
    if (event.detail <= named->detail) continue;
    return Error{event.name + ": not modelled at --detail " + name,
                 "--detail " + std::string(name_of(event.detail)) + ", or leave --detail out"};
  }
  config.detail = named->detail;
  return {};
}

Result<void> take_detail(const RunOptions& options, RecordingConfig& config, const std::string& needs_all) {
  const bool automatic = options.detail == "auto";
  if (automatic || options.detail == kSampled) {
    auto possible = can_be_sampled(options, config, needs_all);
    const bool sampled = possible && (!automatic || config.shortest_window() >= kShortestSampledWindow);
    if (sampled) return take_units(options, config);
    if (!automatic) return possible;
  } else if (options.detail != "complete") {
    if (auto depth = take_depth(options.detail, config); !depth) return depth;
  }
  for (const auto& [option, value] :
       {std::pair{"--units ", &options.units}, {"--error ", &options.error}, {"--budget ", &options.budget}}) {
    if (!value->empty()) return Error{option + *value + ": no units are taken", "--detail sampled takes them"};
  }
  return {};
}

Result<void> take_core(const RunOptions& options, const arch::CpuModel& model, RecordingConfig& config) {
  if (config.detail == Detail::Exact && !options.model_settings.empty()) {
    return Error{"--model-set " + options.model_settings.front() + ": no event asks anything of the core",
                 "cycles does; `zeroskid list` shows the others as modelled"};
  }
  config.model_settings = options.model_settings;
  config.cores = options.cores == 0 ? kUsualCores : static_cast<std::uint32_t>(options.cores);
  if (options.cores > uarch::kMaxCores) {
    return Error{"--cores " + std::to_string(options.cores) + ": too many",
                 "at most " + std::to_string(uarch::kMaxCores)};
  }
  if (config.detail == Detail::Exact) return {};
  if (const auto core = session::chosen_core(config, model); !core) return core.error();
  return {};
}

/// Of --error: "+- 2 % of cycles: reached", "+- 2 % of cycles: not reached, +- 3.1 %".
std::string wanted_in_words(const RecordingConfig& config, const session::UnitSums& done) {
  const double wanted = static_cast<double>(config.units.wanted_error) / 10;
  const session::UnitSums::Estimate first = done.estimate(0);
  const std::string asked =
      fmt::format("+- {:g} % of {}: ", wanted, config.events[config.estimated_events().front()].name);
  if (!first.known) return asked + "not reached, too few units";
  const double percent = 100 * first.half_width / first.value;
  return asked + (percent <= wanted ? "reached" : "not reached, +- " + two_digits(percent) + " %");
}

}  // namespace

Result<void> choose_detail(const RunOptions& options, const arch::CpuModel& model, RecordingConfig& config,
                           const std::string& needs_all) {
  Detail needed = options.least_detail;
  for (const session::EventSpec& event : config.events) needed = std::max(needed, event.detail);
  config.detail = needed;
  if (auto taken = take_detail(options, config, needs_all); !taken) return taken;
  return take_core(options, model, config);
}

std::optional<UnitOptions> units_if_sampled(const RecordingConfig& config) {
  UnitOptions units;
  const std::uint64_t window = config.shortest_window();
  const bool model_ends_windows = std::ranges::any_of(
      config.events, [](const session::EventSpec& e) { return e.closes_window && e.detail != Detail::Exact; });
  if (model_ends_windows || config.log_sharing || config.precise_only || config.skid != session::Skid::None ||
      window / kUnitsPerWindow < units.first_period)
    return std::nullopt;
  fit_to_windows(window, units);
  return units;
}

std::string core_in_words(const RecordingConfig& config) {
  if (config.detail == Detail::Exact) return "nothing";
  std::string words(name_of(config.detail));
  for (const std::string& setting : config.model_settings) words += ", " + setting;
  return words;
}

std::string units_in_words(const UnitOptions& units) {
  const std::string of = "units of " + with_thousands(units.unit);
  if (units.complete == 0) return of + " instructions";
  return "the first " + with_thousands(units.complete) + " instructions, then " + of;
}

std::string share_in_words(const session::UnitSums& done) {
  return done.all_complete() ? profile::kAllInDetail : two_digits(percent_in_detail(done)) + " % of the run";
}

std::string detail_in_words(const RecordingConfig& config, const session::UnitSums& done) {
  if (done.all_complete()) return profile::kAllInDetail;
  std::string words = units_in_words(config.units) + " (" + share_in_words(done) + ")";
  if (config.units.insists) words += "; " + wanted_in_words(config, done);
  if (config.units.budget != 0)
    words += fmt::format("; as many as {:g} times native allows", static_cast<double>(config.units.budget) / 100);
  return words;
}

std::string detail_line(const RecordingConfig& config, const session::UnitSums& done) {
  return config.in_units ? "# in detail: " + detail_in_words(config, done) + "\n" : "";
}

std::string_view name_of(Detail detail) {
  const auto named = std::ranges::find(kDetails, detail, &NamedDetail::detail);
  return named == std::end(kDetails) ? "" : named->name;
}

}  // namespace zs::cli
