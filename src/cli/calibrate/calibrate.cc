#include "cli/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "arch/msrs.h"
#include "base/units.h"
#include "cli/perf_events/perf_count.h"
#include "cli/run/progress_line.h"
#include "cli/stat/stat_totals.h"
#include "session/settings/config.h"

namespace zs::cli {
namespace {

Result<host::KernelEvent> hardware_event(const session::EventSpec& event, const std::string& remark) {
  if (event.kind != session::EventKind::Hardware)
    return Error{event.name + ": is the kernel's, so there is no processor's count to compare with",
                 "events of the processor: instructions, branches, cycles, branch-misses"};
  auto parsed = host::parse_kernel_events(event.name);
  if (parsed && parsed->size() == 1) return parsed->front();
  if (!remark.empty())
    return Error{event.name + ": is the CPU model's, and this machine's processor is another one: " + remark,
                 "events that Linux has for all processors: instructions, branches, cycles, branch-misses"};
  host::KernelEvent raw;
  raw.name = event.name;
  raw.attr.size = sizeof raw.attr;
  raw.attr.type = PERF_TYPE_RAW;
  raw.attr.config =
      arch::PerfEvtSel{event.select}.with(arch::PerfEvtSel::user, 0).with(arch::PerfEvtSel::kernel, 0).raw();
  return raw;
}

/// Half of the distance between the largest and the smallest, in percent of the mean.
double spread_percent(const std::vector<double>& counts, double mean) {
  if (counts.size() < 2 || mean == 0) return 0;
  const auto [least, most] = std::ranges::minmax(counts);
  return 100 * (most - least) / 2 / mean;
}

std::string whole(double count) { return with_thousands(static_cast<std::uint64_t>(std::llround(count))); }

}  // namespace

Result<std::vector<host::KernelEvent>> hardware_events(const StatOptions& stat, const std::string& remark) {
  std::vector<host::KernelEvent> events;
  for (const session::EventSpec& spec : stat.config.events) {
    auto event = hardware_event(spec, remark);
    if (!event) return event.error();
    if (host::is_software(*event))
      return Error{event->name + ": is the kernel's, so there is no processor's count to compare with", ""};
    event->attr.exclude_user = 0;
    event->attr.exclude_kernel = event->attr.exclude_hv = 1;
    event->leader = events.size();
    events.push_back(*std::move(event));
  }
  return events;
}

Result<int> count_by_hardware(const HardwareRuns& hardware, OwnSignals& signals, std::vector<CalibratedEvent>& events) {
  const PerfCounting counting{.events = hardware.events,
                              .targets = {},
                              .permissions = hardware.permissions,
                              .path = hardware.path,
                              .argv = hardware.argv,
                              .opener = hardware.opener};
  int status = 0;
  for (std::uint64_t run = 0; run < hardware.runs && !signals.asked_to_end(); ++run) {
    const auto counts = count_perf_events(counting, signals);
    if (!counts) return counts.error();
    status = counts->wait_status;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const host::EventValue& value = counts->values[i];
      if (value.running_ns == 0)
        return Error{events[i].name + ": was never on: other events had the processor's counters all the time",
                     "fewer events at a time"};
      events[i].hardware.push_back(static_cast<double>(value.scaled()));
      events[i].took_turns = events[i].took_turns || value.running_ns < value.enabled_ns;
    }
  }
  return status;
}

std::optional<int> count_by_software(const ProgramToRun& program, StatOptions& stat, OwnSignals& signals,
                                     std::vector<CalibratedEvent>& events) {
  StatTotals totals(stat.config.events.size(), stat.config.estimated_events().size());
  ProgressLine progress(progress_style(stat.quiet, stat.verbose));
  Collector collector(totals, stat.config, stat.instruction_event, false,
                      [&](const Progress& now) { progress.show(now); });
  ProgramEnd end;
  if (!run_and_collect(program, stat.config, collector, signals, end)) return std::nullopt;
  progress.clear();
  say_how_it_ended(program, end);
  if (!end.ran) return std::nullopt;
  add_run(stat.report, {.values = as_printed(totals.totals(), stat)}, totals.units());
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].software = static_cast<double>(stat.report.runs.front().values[i]);
    events[i].software_class = name_of(class_of(&stat.report.units, stat.report.events[i].number_class));
  }
  return end.wait_status;
}

double CalibratedEvent::hardware_mean() const {
  if (hardware.empty()) return 0;
  return std::accumulate(hardware.begin(), hardware.end(), 0.0) / static_cast<double>(hardware.size());
}

std::optional<double> CalibratedEvent::error_percent() const {
  const double mean = hardware_mean();
  if (mean == 0) return std::nullopt;
  return 100 * (software / mean - 1);
}

std::string calibration_page(const Calibration& calibration) {
  std::size_t width = 5;
  for (const CalibratedEvent& event : calibration.events) width = std::max(width, event.name.size());
  std::string page = fmt::format("\n Counts of '{}' in ring 3:\n\n", calibration.program);
  page +=
      fmt::format(" {:<{}}  {:>18}  {:>8}  {:>18}  {:>10}\n", "event", width, "hardware", "+-", "software", "error");
  for (const CalibratedEvent& event : calibration.events) {
    const double mean = event.hardware_mean();
    const auto error = event.error_percent();
    page += fmt::format(" {:<{}}  {:>18}  {:>6.2f} %  {:>18}  {:>10}  # {}{}\n", event.name, width, whole(mean),
                        spread_percent(event.hardware, mean), whole(event.software),
                        error ? fmt::format("{:+.2f} %", *error) : "none", event.software_class,
                        event.took_turns ? ", hardware's scaled: its events took turns" : "");
  }
  return page + "\n";
}

std::vector<KnownError> errors_of(const Calibration& calibration) {
  std::vector<KnownError> errors;
  for (const CalibratedEvent& event : calibration.events) {
    const auto percent = event.error_percent();
    if (!percent) continue;
    errors.push_back({.cpu = calibration.cpu,
                      .model = calibration.model,
                      .event = event.name,
                      .percent = std::round(*percent * 100) / 100,
                      .date = calibration.date,
                      .program = calibration.program});
  }
  return errors;
}

}  // namespace zs::cli
