#include "cli/stat/window_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "cli/events/event_selection.h"
#include "cli/events/skid_option.h"
#include "session/driver/adaptive_period.h"

namespace zs::cli {
namespace {

using session::EventKind;
using session::EventSpec;

constexpr std::uint64_t kInstructionsPerMs = session::kNominalInstructionsPerSecond / 1000;
/// Leaves room for sums, and is longer than any run.
constexpr std::uint64_t kLongestWindow = std::uint64_t{1} << 60;
constexpr const char* kSpellings = "-I 50000i: instructions; -I 1000:EVENT: of an event; -I 10: milliseconds";

struct Trigger {
  std::uint64_t every = 0;
  std::string event = "instructions";
  bool milliseconds = false;
};

/// The number that `text` starts with, taken off it.
Result<std::uint64_t> take_number(std::string_view& text) {
  const std::string whole = fmt::format("-I {}", text);
  if (!text.empty() && text.front() == '-') return Error{whole + ": a negative number closes no window", kSpellings};
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc::invalid_argument) return Error{whole + ": no number", kSpellings};
  if (failure == std::errc::result_out_of_range || number > kLongestWindow) {
    return Error{whole + ": too large", "at most " + std::to_string(kLongestWindow)};
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

Result<Trigger> parse_trigger(const std::string& spelling) {
  std::string_view rest = spelling;
  const auto number = take_number(rest);
  if (!number) return number.error();
  Trigger trigger;
  trigger.every = *number;
  if (rest.empty()) {
    trigger.milliseconds = true;
    if (trigger.every > kLongestWindow / kInstructionsPerMs) {
      return Error{"-I " + spelling + ": too large",
                   "at most " + std::to_string(kLongestWindow / kInstructionsPerMs) + " ms"};
    }
    trigger.every *= kInstructionsPerMs;
  } else if (rest.front() == ':' && rest.size() > 1) {
    trigger.event = rest.substr(1);
  } else if (rest != "i") {
    return Error{"-I " + spelling + ": '" + std::string(rest) + "' is no unit", kSpellings};
  }
  if (trigger.every == 0) return Error{"-I " + spelling + ": a window of 0 never begins", kSpellings};
  return trigger;
}

Result<EventSpec> one_event(const std::string& name, const std::string& option, const arch::CpuModel& model) {
  const auto selection = select_events({name}, model, {});
  if (!selection) return selection.error();
  if (selection->events.size() != 1) return Error{option + ": more than one event", "one -I for each"};
  EventSpec event = selection->events.front();
  if (event.kind != EventKind::Hardware) {
    return Error{option + ": the kernel counts " + event.name + ", and it interrupts nobody", kSpellings};
  }
  event.precise = 0;
  event.precise_distribution = false;
  return event;
}

std::uint32_t append(EventSpec event, session::RecordingConfig& config) {
  const auto at = static_cast<std::uint32_t>(config.events.size());
  event.leader = at;
  config.events.push_back(std::move(event));
  return at;
}

bool counts_the_same(const EventSpec& a, const EventSpec& b) {
  return a.kind == b.kind && a.select == b.select && a.counters == b.counters;
}

/// The event of the recording that can close windows for `wanted`; appended if none can.
EventSpec& closer(const EventSpec& wanted, session::RecordingConfig& config) {
  for (EventSpec& event : config.events) {
    if (counts_the_same(event, wanted) && !event.closes_window) return event;
  }
  return config.events[append(wanted, config)];
}

EventSpec instructions(const arch::CpuModel& model) {
  auto event = one_event("instructions", "instructions", model);
  CHECK(event.has_value());
  return *std::move(event);
}

Result<void> set_skid(const std::string& text, const arch::CpuModel& model, session::RecordingConfig& config,
                      WindowPlan& plan) {
  auto choice = parse_window_skid(text);
  if (!choice) return choice.error();
  config.skid = choice->skid;
  config.skid_instructions = choice->instructions;
  plan.skid = std::move(choice->late_by);
  config.skid_event = append(instructions(model), config);
  return {};
}

}  // namespace

void count_positions(const arch::CpuModel& model, session::RecordingConfig& config) {
  if (config.position_event != session::kNoEvent) return;
  const EventSpec wanted = instructions(model);
  const auto at =
      std::ranges::find_if(config.events, [&](const EventSpec& event) { return counts_the_same(event, wanted); });
  config.position_event =
      at == config.events.end() ? append(wanted, config) : static_cast<std::uint32_t>(at - config.events.begin());
}

Result<std::chrono::milliseconds> in_milliseconds(const std::string& every) {
  const auto trigger = parse_trigger(every);
  if (!trigger) return trigger.error();
  return std::chrono::milliseconds(trigger->milliseconds ? trigger->every / kInstructionsPerMs : 0);
}

Result<WindowPlan> plan_windows(const WindowOptions& options, const arch::CpuModel& model,
                                session::RecordingConfig& config) {
  WindowPlan plan;
  if (options.every.empty()) {
    if (!options.skid.empty()) return Error{"--skid: without -I nothing is interrupted", kSpellings};
    return plan;
  }
  if (options.every.size() > session::kMostClosers) {
    return Error{"-I: " + std::to_string(options.every.size()) + " of them",
                 "at most " + std::to_string(session::kMostClosers)};
  }
  std::vector<std::pair<std::uint32_t, std::string>> closers;  // by event of the recording, which is their order
  for (const std::string& spelling : options.every) {
    const auto trigger = parse_trigger(spelling);
    if (!trigger) return trigger.error();
    const auto event = one_event(trigger->event, "-I " + spelling, model);
    if (!event) return event.error();
    EventSpec& closing = closer(*event, config);
    closing.period = trigger->every;
    closing.closes_window = true;
    plan.in_time |= trigger->milliseconds;
    closers.emplace_back(&closing - config.events.data(), spelling + (trigger->milliseconds ? "ms" : ""));
  }
  std::ranges::sort(closers);
  for (auto& [event, spelling] : closers) plan.closers.push_back(std::move(spelling));
  count_positions(model, config);
  if (!options.skid.empty()) {
    if (auto set = set_skid(options.skid, model, config, plan); !set) return set.error();
  }
  return plan;
}

}  // namespace zs::cli
