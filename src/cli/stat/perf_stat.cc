#include "cli/stat/perf_stat.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/items.h"
#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/program_search.h"
#include "cli/command/say.h"
#include "cli/command/words.h"
#include "cli/perf_events/perf_count.h"
#include "cli/run/run_program.h"
#include "cli/stat/stat_page.h"
#include "report/text/fit.h"

namespace zs::cli {
namespace {

// `zeroskid stat -I MS` where the kernel counts: what was counted between two readings, in perf stat's layout.

constexpr int kTimeWidth = 16;

std::string with_each_line(std::string_view lines, const std::function<std::string(std::string_view)>& changed) {
  std::string text;
  for (const std::string_view line : pieces_of(lines, '\n')) text += changed(line) + "\n";
  return text;
}

std::string behind_time(double seconds, std::string_view separator, std::string_view lines) {
  const std::string time = fmt::format("{:{}.9f}", seconds, kTimeWidth);
  return with_each_line(lines, [&](std::string_view line) { return fmt::format("{}{}{}", time, separator, line); });
}

/// "#           time             counts unit events"
std::string interval_head(bool threads) {
  return fmt::format("#{:>{}} {}{:>18} unit events\n", "time", kTimeWidth - 1,
                     threads ? fmt::format("{:>16}-{:<8} ", "comm", "pid") : "", "counts");
}

using profile::ValueClass;

/// perf's usual ones, as far as there can be any.
std::string usual_counts(bool pmu) {
  const std::string of_the_kernel = "task-clock,context-switches,cpu-migrations,page-faults";
  return pmu ? of_the_kernel + ",cycles,instructions,branches,branch-misses" : of_the_kernel;
}

/// An option among these that the software PMU alone knows; "" if none was given.
std::string option_of_the_software_pmu(const StatOptions& options) {
  std::string option = first_given({{!options.metrics.empty(), "-M"},
                                    {!options.before.empty(), "--pre"},
                                    {!options.behind.empty(), "--post"},
                                    {options.detail != 0, "-d"},
                                    {!options.windows.skid.empty(), "--skid"},
                                    {!options.regions.empty(), "--region"},
                                    {!options.format.empty(), "--format"},
                                    {options.per_process, "--per-process"},
                                    {!options.follow_list.empty(), "--follow"},
                                    {!options.follow.comm.empty(), "--comm"},
                                    {!options.repeat_until.empty(), "--repeat-until"}});
  if (!option.empty()) return option;
  if (options.windows.every.size() > 1) return "more than one -I";
  for (const std::string& every : options.windows.every) {
    if (const auto time = in_milliseconds(every); time && time->count() == 0)
      return "-I in other units than milliseconds";
  }
  return option_of_the_software_pmu(options.run);
}

bool is_clock(const host::KernelEvent& event) {
  return host::is_software(event) &&
         (event.attr.config == PERF_COUNT_SW_TASK_CLOCK || event.attr.config == PERF_COUNT_SW_CPU_CLOCK);
}

/// As perf names an event from which it took ring 0 itself.
std::string name_without_the_kernel(const std::string& name) { return name + (name.ends_with('/') ? "u" : ":u"); }

/// "process id ", "1234"
void name_the_targets(const BackEndWords& words, StatReport& report) {
  report.whose = !words.pids.empty() ? "process id " : !words.tids.empty() ? "thread id " : "";
  if (!words.pids.empty() || !words.tids.empty()) {
    report.command = joined(words.pids.empty() ? words.tids : words.pids, ",");
  } else {
    report.command = words.cpus.empty() ? "system wide" : "CPU(s) " + words.cpus;
  }
}

void take(const std::vector<host::EventValue>& from, std::vector<std::uint64_t>& values,
          std::vector<CountedTime>& times) {
  for (const host::EventValue& value : from) {
    values.push_back(value.scaled());
    times.push_back({.enabled_ns = value.enabled_ns, .running_ns = value.running_ns});
  }
}

void add_counts(const PerfCounts& counts, StatReport& report) {
  StatRun run{.elapsed = counts.elapsed_seconds,
              .user = seconds(counts.usage.ru_utime),
              .system = seconds(counts.usage.ru_stime)};
  take(counts.values, run.values, run.times);
  report.runs.push_back(std::move(run));
  for (const CountedThread& thread : counts.threads) {
    ThreadTotals& row = report.threads.emplace_back();
    row.pid = thread.pid;
    row.tid = thread.tid;
    row.comm = thread.name;
    take(thread.values, row.values, row.times);
  }
}

/// begin  since the beginning; afterwards of the next interval
std::string printed_interval(const StatOptions& options, const PerfCounts& counts, double& begin, int descriptor) {
  StatReport interval = options.report;
  add_counts(counts, interval);
  interval.runs.front().elapsed = counts.elapsed_seconds - begin;
  begin = counts.elapsed_seconds;
  if (options.json) {
    return with_each_line(stat_json(interval), [&](std::string_view line) {
      return fmt::format("{{\"interval\" : {:.9f}, {}", begin, line.substr(1));
    });
  }
  if (!options.separator.empty())
    return behind_time(begin, options.separator, stat_columns(interval, options.separator));
  return behind_time(begin, " ", stat_rows(interval, use_colour(options.colour_choice, descriptor)));
}

std::string printed(const StatOptions& options, int descriptor) {
  const StatReport& report = options.report;
  if (options.json) return stat_json(report);
  if (!options.separator.empty()) return stat_columns(report, options.separator);
  return report::folded(
      perf_events_line(*options.perf_events) + stat_page(report, use_colour(options.colour_choice, descriptor)),
      terminal_width(descriptor));
}

}  // namespace

Result<void> choose_kernel_counting(StatOptions& out) {
  const std::string ours = option_of_the_software_pmu(out);
  if (!ours.empty() && !asks_for_the_kernel(out.back_end)) return {};  // it can count the kernel's events, too
  auto choice = choose_back_end(out.back_end, out.events, usual_counts);
  if (!choice) return choice.error();
  if (!*choice) return {};
  if (!ours.empty()) return not_the_kernels(ours);
  if (!parse_colour(out.colour, out.colour_choice))
    return Error{"--color " + out.colour + ": no such choice", "auto, always or never"};
  if (out.json && !out.separator.empty()) return Error{"-x and -j exclude each other", ""};
  if (out.separator == "\\t") out.separator = "\t";
  const host::Targets& targets = (*choice)->targets;
  if (out.per_thread && !targets.is_attached()) {
    return Error{"--per-thread: the kernel counts threads by themselves that are there when it begins",
                 "-p or -t names them; --pmu=sw tells those of a program apart that it starts"};
  }
  if (out.repeat > 1 && targets.is_watching())
    return Error{"-r: what runs already cannot be run again", "leave it out, or start a program"};
  if (!out.windows.every.empty()) {
    auto interval = in_milliseconds(out.windows.every.front());
    if (!interval) return interval.error();
    if (out.repeat > 1) return Error{"-I and -r exclude each other", ""};
    out.interval = *interval;
  }
  out.permissions = host::ask_permissions();
  const bool changed = leave_out_the_kernel((*choice)->events, out.permissions);
  for (const host::KernelEvent& event : (*choice)->events) {
    const bool without = changed && !event.rings_said;
    out.report.events.push_back({.name = without ? name_without_the_kernel(event.name) : event.name,
                                 .milliseconds = is_clock(event),
                                 .number_class = ValueClass::Measured});
  }
  out.report.by_kernel = true;
  out.report.watched = targets.is_watching();
  if (out.report.watched) name_the_targets(out.back_end, out.report);
  out.perf_events = **std::move(choice);
  return {};
}

int stat_perf_events(StatOptions& options) {
  PerfCounting counting{.events = options.perf_events->events,
                        .targets = options.perf_events->targets,
                        .permissions = options.permissions,
                        .inherit = !options.run.no_inherit,
                        .by_thread = options.per_thread,
                        .path = "",
                        .argv = options.program,
                        .delay = std::chrono::milliseconds(options.delay)};
  if (!options.program.empty()) {
    if (const int status = find_in_path(options.program.front(), counting.path); status != 0) return status;
    if (!counting.targets.is_watching()) options.report.command = joined(options.program);
  }
  Output output;
  if (const auto status = open_output(options, output)) return *status;
  const bool intervals = options.interval.count() != 0;
  OwnSignals signals;
  double begin = 0;
  std::uint64_t rows = 0;
  if (intervals) {
    counting.every = options.interval;
    counting.each_time = [&](const PerfCounts& counts) {
      if (options.interval_count != 0 && rows == options.interval_count) return;
      output.add(printed_interval(options, counts, begin, output.descriptor()));
      output.flush();
      if (++rows == options.interval_count && options.program.empty()) signals.ask_to_end();
    };
    if (!options.json && options.separator.empty())
      output.add(perf_events_line(*options.perf_events) + interval_head(options.per_thread));
  }
  ProgramEnd end;
  for (std::uint64_t i = 0; i < options.repeat && !signals.asked_to_end(); ++i) {
    if (options.timeout != 0) signals.end_after(options.delay + options.timeout);
    const auto counts = count_perf_events(counting, signals);
    if (!counts) return failed(counts.error());
    end.wait_status = counts->wait_status;
    if (!options.program.empty()) say_how_it_ended({.runner = "", .path = "", .argv = options.program}, end);
    add_counts(*counts, options.report);
  }
  if (!intervals) output.add(printed(options, output.descriptor()));
  return output.flush() ? status_of_run(signals, end.wait_status) : kToolFailed;
}

}  // namespace zs::cli
