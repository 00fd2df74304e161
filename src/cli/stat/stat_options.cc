#include "cli/stat/stat_options.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "arch/cpu_model.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/program_search.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/events/event_selection.h"
#include "cli/run/detail_choice.h"
#include "cli/stat/perf_stat.h"
#include "session/driver/pmu_plan.h"
#include "session/recording/warm_up_error.h"

namespace zs::cli {
namespace {

using profile::ValueClass;
using session::EventKind;

const std::vector<std::string> kUsualEvents = {"instructions", "branches", "mem_inst_retired.all_loads",
                                               "mem_inst_retired.all_stores"};
/// Where no event counts loads and stores without a model of the core.
const std::vector<std::string> kUsualEventsOfAmd = {"instructions", "branches"};
/// And of whole runs.
const std::vector<std::string> kUsualMeasured = {"page-faults", "context-switches", "task-clock"};
/// HPCTool's seven: fixed counters 0, 1 and 2, and its four select words in their order.
const std::vector<std::string> kHpctoolEvents = {"instructions", "cycles",     "ref-cycles", "0x004100C4",
                                                 "0x004100C5",   "0x00414F2E", "0x0041412E"};
constexpr std::string_view kHpctool = "hpctool";
constexpr std::string_view kHpctoolCsv = "hpctool-csv";
constexpr const char* kWholeRun = "1000000000000000i";  // a window longer than any run
struct NamedFormat {
  std::string_view name;
  WindowFormat format;
};
constexpr NamedFormat kFormats[] = {{"csv", WindowFormat::Csv}, {kHpctoolCsv, WindowFormat::HpctoolCsv}};
/// What -d has before its own: perf's usual events.
const std::vector<std::string> kUsualTimes = {"cycles", "branch-misses"};
/// What each further -d adds, as perf has it.
const std::vector<std::string> kDetails[] = {
    {"L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses"},
    {"L1-icache-loads", "L1-icache-load-misses", "dTLB-loads", "dTLB-load-misses", "iTLB-loads", "iTLB-load-misses"},
    {"L1-dcache-prefetches", "L1-dcache-prefetch-misses"},
};

/// "event list, column 1: not modelled: LLC-loads needs a model of the core (caches), which nehalem@1 does not have":
/// from "needs" to the comma; of any other refusal what stands behind the column.
std::string why_no_number(const Error& error) {
  const std::string& text = error.message;
  if (const std::size_t needs = text.find(" needs "); needs != std::string::npos) {
    const std::size_t comma = text.find(',', needs);
    return text.substr(needs + 1, comma == std::string::npos ? comma : comma - needs - 1);
  }
  const std::size_t column = text.find(": ");
  return column == std::string::npos ? text : text.substr(column + 2);
}

ValueClass number_class_of(const session::EventSpec& event) {
  if (event.kind != EventKind::Hardware) return ValueClass::Measured;
  return event.detail == session::Detail::Exact ? ValueClass::Exact : ValueClass::Modelled;
}

void count(const EventSelection& selection, StatOptions& out) {
  const auto first = static_cast<std::uint32_t>(out.config.events.size());
  if (const int at = instruction_event(selection); at >= 0 && out.instruction_event < 0) {
    out.instruction_event = static_cast<int>(first) + at;
  }
  for (std::size_t i = 0; i < selection.events.size(); ++i) {
    session::EventSpec event = selection.events[i];
    event.leader += first;
    out.report.events.push_back({.name = event.name,
                                 .milliseconds = event.kind == EventKind::TaskClock,
                                 .number_class = number_class_of(event)});
    out.columns.emplace_back(selection.parsed[i]);
    out.counted_as.push_back(out.config.events.size());
    out.config.events.push_back(std::move(event));
  }
}

/// An event that we chose: one without a number gets a row that says so.
void count_ours(const std::string& name, const arch::CpuModel& model, StatOptions& out) {
  const auto selection = select_events({name}, model, {});
  if (selection) return count(*selection, out);
  out.report.events.push_back(
      {.name = name, .number_class = ValueClass::NotModelled, .reason = why_no_number(selection.error())});
  out.columns.emplace_back(std::nullopt);
  out.counted_as.push_back(kNotCounted);
}

void count_ours(const std::vector<std::string>& names, const arch::CpuModel& model, StatOptions& out) {
  for (const std::string& name : names) count_ours(name, model, out);
}

/// The column of an event that a metric needs; a new one where nobody asked for it.
std::size_t column_for(std::string_view event, const arch::CpuModel& model, StatOptions& out) {
  if (const auto column = find_column(out.columns, event, model)) return *column;
  const auto named = std::ranges::find(out.report.events, event, &StatEvent::name);
  if (named != out.report.events.end()) return static_cast<std::size_t>(named - out.report.events.begin());
  count_ours(std::string(event), model, out);
  return out.columns.size() - 1;
}

Result<void> choose_metrics(const arch::CpuModel& model, StatOptions& out) {
  const auto metrics = named_metrics(out.metrics, model);
  if (!metrics) return metrics.error();
  for (const arch::Metric* const metric : *metrics) {
    out.report.metrics.push_back(bind_metric(
        *metric, model, [&](std::string_view event) { return column_for(event, model, out); }, out.report.events));
  }
  for (StatMetric& rate : rates_of(out.columns, out.report.events, model)) {
    out.report.metrics.push_back(std::move(rate));
  }
  return {};
}

Result<void> choose_events(const arch::CpuModel& model, StatOptions& out) {
  if (out.events.empty() && out.format == kHpctoolCsv) out.events.emplace_back(kHpctool);
  if (out.events.empty() && out.metrics.empty()) {
    count_ours(model.vendor == arch::Vendor::Amd ? kUsualEventsOfAmd : kUsualEvents, model, out);
    if (out.detail != 0) {
      count_ours(kUsualTimes, model, out);
    }
    if (out.windows.every.empty()) {
      count_ours(kUsualMeasured, model, out);
    }
  }
  for (const std::string& list : out.events) {
    if (list == kHpctool) {
      count_ours(kHpctoolEvents, model, out);
      continue;
    }
    const auto selection = select_events({list}, model, {});
    if (!selection) return selection.error();
    count(*selection, out);
  }
  for (std::size_t i = 0; i < std::min(out.detail, std::size(kDetails)); ++i) {
    count_ours(kDetails[i], model, out);
  }
  return choose_metrics(model, out);
}

/// An event that nobody asked for otherwise is counted too.
Result<void> choose_end_of_repetition(const arch::CpuModel& model, StatOptions& out) {
  if (out.repeat_until.empty()) return {};
  auto until = parse_repeat_until(out.repeat_until);
  if (!until) return until.error();
  auto named = std::ranges::find(out.report.events, until->event, &StatEvent::name);
  if (named == out.report.events.end()) {
    const auto selection = select_events({until->event}, model, {});
    if (!selection) return Error{"--repeat-until: " + selection.error().message, selection.error().hint};
    count(*selection, out);
    named = out.report.events.end() - 1;
  }
  if (named->number_class == ValueClass::NotModelled)
    return Error{"--repeat-until " + out.repeat_until + ": " + until->event + " has no number: " + named->reason, ""};
  until->column = static_cast<std::size_t>(named - out.report.events.begin());
  if (out.repeat == 1) out.repeat = RepeatUntil::kMostRuns;
  out.until = *std::move(until);
  return {};
}

/// What the kernel counts it counts for zeroskid too: for a whole run that is an upper bound, for a part of it it is
/// noise.
Result<void> refuse_measured(const std::string& option, const StatOptions& out) {
  const auto measured =
      std::ranges::find(out.report.events, ValueClass::Measured, [](const StatEvent& e) { return e.number_class; });
  if (measured == out.report.events.end()) return {};
  return Error{option + ": " + measured->name + " is counted by the kernel, with zeroskid's share, for whole runs only",
               "leave it out of -e"};
}

Result<void> choose_windows(const arch::CpuModel& model, StatOptions& out) {
  if (!out.format.empty()) {
    const auto named = std::ranges::find(kFormats, out.format, &NamedFormat::name);
    if (named == std::end(kFormats)) return Error{"--format " + out.format + ": no such format", "csv or hpctool-csv"};
    if (out.windows.every.empty() && named->format == WindowFormat::HpctoolCsv) {
      out.windows.every.emplace_back(kWholeRun);  // HPCTool's polling: one row
    } else if (out.windows.every.empty()) {
      return Error{"--format " + out.format + ": has rows of windows only", "-I 50000i"};
    }
    if (out.json || !out.separator.empty()) return Error{"--format, -x and -j exclude each other", ""};
    out.window_format = named->format;
  } else if (out.json) {
    out.window_format = WindowFormat::Json;
  } else if (!out.separator.empty()) {
    out.window_format = WindowFormat::Columns;
  }
  if (!out.windows.every.empty()) {
    if (auto exact = refuse_measured("-I", out); !exact) return exact;
  }
  out.config.marked_regions = true;
  out.config.region_spans = out.window_format == WindowFormat::Csv;
  auto plan = plan_windows(out.windows, model, out.config);
  if (!plan) return plan.error();
  out.window_plan = *std::move(plan);
  if (out.window_format == WindowFormat::HpctoolCsv) return check_hpctool_events(window_table(out));
  return {};
}

/// Which of the printed events are estimates, now that it is known whether units are taken, and so which metrics are.
void mark_estimates(const arch::CpuModel& model, StatOptions& out) {
  if (!out.config.in_units) return;
  const std::vector<std::uint32_t> estimated = out.config.estimated_events();
  for (std::size_t i = 0; i < out.report.events.size(); ++i) {
    const auto at = std::ranges::find(estimated, out.counted_as[i]);
    out.report.estimated.emplace_back();
    if (at == estimated.end()) continue;
    out.report.estimated.back() = EstimatedColumn{static_cast<std::size_t>(at - estimated.begin()),
                                                  session::warm_up_error(out.config.events[*at], model)};
    out.report.events[i].number_class = ValueClass::Estimated;
  }
  for (StatMetric& metric : out.report.metrics) {
    metric.value_class =
        metric.counted.value_class([&](std::size_t column) { return out.report.events[column].number_class; });
  }
}

/// An option that was given and that needs every instruction modelled; "" for none.
std::string needs_all_modelled(const StatOptions& out) {
  if (!out.windows.skid.empty()) return "--skid";
  if (out.window_format == WindowFormat::HpctoolCsv) return "--format hpctool-csv";  // it has no place for intervals
  for (std::size_t closer = 0; const session::EventSpec& event : out.config.events) {
    if (!event.closes_window) continue;
    if (event.detail != session::Detail::Exact) return "-I " + out.window_plan.closers[closer];
    ++closer;
  }
  return "";
}

Result<void> check_times(const StatOptions& out) {
  if (out.interval_count != 0 && out.windows.every.empty())
    return Error{"--interval-count: without -I there are no intervals", "-I 100 --interval-count 5"};
  if (out.report.table && out.repeat == 1 && out.repeat_until.empty())
    return Error{"--table: is of several runs", "-r 5 --table"};
  constexpr std::uint64_t kMostMs = 1'000'000'000'000;
  if (out.delay > kMostMs || out.timeout > kMostMs)
    return Error{std::string(out.delay > kMostMs ? "-D" : "--timeout") + ": too long",
                 "at most " + std::to_string(kMostMs) + " milliseconds"};
  if (out.timeout == 0) return {};
  if (!out.windows.every.empty())
    return Error{"--timeout and -I exclude each other", "-I 100 --interval-count 5 prints five of them"};
  if (out.run.virtual_time)
    return Error{"--timeout: a run in virtual time does not depend on the clock", "leave out one of them"};
  return {};
}

/// perf stat record keeps its counts in a perf.data file, which perf stat report reads.
std::optional<int> refuse_perfs_file(const std::vector<std::string>& program) {
  if (program.empty() || (program.front() != "record" && program.front() != "report")) return std::nullopt;
  std::string found;
  SearchFailure failure;
  if (find_program(program.front(), std::getenv("PATH"), found, failure)) return std::nullopt;
  return refused({"perf's stat " + program.front() + " is no verb here",
                  "stat -x, -o FILE PROGRAM, or stat -j -o FILE PROGRAM, keeps counts for programs to read"});
}

}  // namespace

Result<void> choose_counting(StatOptions& out) {
  if (auto supported = check_run_options(out.run); !supported) return supported;
  if (!parse_colour(out.colour, out.colour_choice)) {
    return Error{"--color " + out.colour + ": no such choice", "auto, always or never"};
  }
  if (out.json && !out.separator.empty()) return Error{"-x and -j exclude each other", ""};
  if (out.per_thread && out.per_process) return Error{"--per-thread and --per-process exclude each other", ""};
  if (const char* const again = !out.repeat_until.empty() ? "--repeat-until" : out.repeat > 1 ? "-r" : nullptr) {
    const char* const one_run = out.per_thread              ? "--per-thread"
                                : out.per_process           ? "--per-process"
                                : out.windows.every.empty() ? nullptr
                                                            : "-I";
    if (one_run != nullptr) return Error{std::string(one_run) + " and " + again + " exclude each other", ""};
  }
  if (auto follow = parse_follow(out.follow_list, out.follow); !follow) return follow;
  constexpr std::size_t kLongestComm = 15;  // the kernel keeps so much of a name
  if (out.follow.comm.size() > kLongestComm) out.follow.comm.resize(kLongestComm);
  if (out.separator == "\\t") out.separator = "\t";
  const auto model = choose_cpu_model(out.run.cpu);
  if (!model) return model.error();
  out.config.cpu_model = (*model)->name;
  apply(out.run, out.config);
  if (auto chosen = choose_events(**model, out); !chosen) return chosen;
  if (auto end = choose_end_of_repetition(**model, out); !end) return end;
  if (auto cut = choose_windows(**model, out); !cut) return cut;
  if (auto detail = choose_detail(out.run, **model, out.config, needs_all_modelled(out)); !detail) return detail;
  mark_estimates(**model, out);
  const auto banks = session::plan_banks(session::with_progress_event(out.config).events, **model);
  if (!banks) return banks.error();
  out.pmus = banks->size();
  return {};
}

std::optional<int> open_output(const StatOptions& options, Output& output) {
  if (options.log_fd != 0) return output.take_descriptor(static_cast<int>(options.log_fd));
  return output.open_file(options.output, options.append ? Output::Old::Kept : Output::Old::Dropped);
}

std::vector<std::uint64_t> as_printed(const std::vector<std::uint64_t>& counted, const StatOptions& options) {
  std::vector<std::uint64_t> printed;
  for (const std::size_t event : options.counted_as) printed.push_back(event == kNotCounted ? 0 : counted[event]);
  return printed;
}

profile::WindowTable window_table(const StatOptions& options) {
  profile::WindowTable table;
  table.program = options.report.command;
  table.cpu_model = options.config.cpu_model;
  if (options.window_plan.in_time) table.clock = "nominal: 1 ns per retired instruction of the thread";
  if (options.config.in_units) table.notes.push_back("in detail: " + units_in_words(options.config.units));
  if (!options.window_plan.skid.empty())
    table.notes.push_back("windows end late on purpose, by " + options.window_plan.skid);
  for (const StatEvent& event : options.report.events) {
    table.events.push_back({.name = event.name,
                            .value_class = event.number_class,
                            .has_half_widths = event.number_class == ValueClass::Estimated});
  }
  return table;
}

std::optional<int> parse_stat_options(const Arguments& arguments, StatOptions& out) {
  CommandLine line("stat", "Runs a program and prints how often events happened.",
                   "[OPTIONS] [--] PROGRAM [ARGUMENTS]");
  line.group("What is counted");
  line.values("-e,--event", out.events, "EVENTS",
              "Events, separated by commas; `zeroskid list` shows them [instructions, branches, loads,\n"
              "stores, page faults, context switches, task clock]; `hpctool`: the seven of that tool");
  line.count("-d,--detailed", out.detail, "Cycles, branch misses and caches too; -d -d: TLBs; -d -d -d: prefetches");
  line.values("-M,--metrics", out.metrics, "METRICS",
              "Metrics or groups of them, separated by commas, and what they are made of;\n"
              "`zeroskid list metrics` shows them");
  line.number("-r,--repeat", out.repeat, 1, "N", "Run the program N times; print means and their deviations");
  line.value("--repeat-until", out.repeat_until, "EVENT:PERCENT",
             "Run it until the mean of EVENT deviates by PERCENT at most, but not more than\n-r N times [100]");
  line.optional_value("--mix", out.mix, "[=function]",
                      "What the instructions are, by kind, from an exact profile; or of each function");
  line.flag("--opcodes", out.opcodes, "Likewise, by mnemonic");
  line.flag("-n,--null", out.null, "Nothing but time");
  line.flag("--topdown", out.topdown, "What became of the issue slots: zeroskid topdown PROGRAM");
  line.value("--pre", out.before, "COMMAND", "Have the shell run it before each run, uncounted");
  line.value("--post", out.behind, "COMMAND", "The same behind each run");
  line.flag("--per-thread", out.per_thread, "A line per thread");
  line.flag("--per-process", out.per_process, "A line per process");
  line.value("--follow", out.follow_list, "WHAT[,WHAT...]",
             "Which of fork, exec and thread is followed, or none: the others run uncounted [fork,exec,thread]");
  line.known_words("WHAT", "", {"fork", "exec", "thread", "none"});
  line.value("--comm", out.follow.comm, "NAME", "Only while a process runs the program NAME (15 letters at most)");
  line.group("When it is counted");
  line.values("-I,--interval", out.windows.every, "WINDOW",
              "A row per window of each thread: Ni instructions, N:EVENT, or N ms of nominal time (1 ms is\n"
              "1,000,000 instructions); given again, whichever comes first ends it. Where the kernel counts:\n"
              "what was counted every N ms");
  line.number("--interval-count", out.interval_count, 1, "N", "The first N of them; the program runs on uncounted");
  line.number("-D,--delay", out.delay, 0, "MS",
              "Where the kernel counts: begin when the program has run so long. The software PMU counts whole runs");
  line.number("--timeout", out.timeout, 10, "MS",
              "End the program with SIGTERM when it has run so long, and print what was counted");
  line.value("--skid", out.windows.skid, "N", "Windows end N instructions late, or `pmi`: as a real interrupt does");
  line.values("--region", out.regions, "WHERE",
              "Also between two places: a function, FILE:LINE, or 0xADDR..0xADDR as objdump shows them.\n"
              "Regions that the source marks (zeroskid/region.h) are counted without asking");
  line.group("How it is printed");
  line.value("-x,--field-separator", out.separator, "SEP", "Columns as perf stat -x has them, with SEP between");
  line.flag("-j,--json-output", out.json, "A JSON object per line, as perf stat -j");
  line.value("--format", out.format, "csv|hpctool-csv",
             "With -I: a table for `zeroskid plot`; hpctool-csv\nwithout -I: one row of the whole run");
  line.value("-o,--output", out.output, "FILE", "Where to [stderr]");
  line.flag("--append", out.append, "Behind what is in that file");
  line.number("--log-fd", out.log_fd, 1, "N", "To a descriptor that is open already");
  line.flag("--table", out.report.table, "With -r: how long each run took");
  line.value("--color", out.colour, "auto|always|never", "When to colour [auto]");
  line.flag("-q,--quiet", out.quiet, "No progress line");
  line.flag("-v,--verbose", out.verbose, "A progress line in logs too");
  out.run.has_targets = true;
  add_back_end_options(line, out.back_end, {.rings_by_thread = false});
  add_run_options(line, out.run);
  line.exit_statuses(kStatusesOfRuns);
  if (const auto status = line.parse(arguments)) return status;
  if (const auto status = refuse_perfs_file(line.program())) return status;
  if (out.topdown) {
    std::vector<std::string> words{"topdown", "--"};
    words.insert(words.end(), line.program().begin(), line.program().end());
    return kTopdownVerb.run({words});
  }
  if (out.wants_mix()) {
    if (line.program().empty()) return refused({"no program to count", "zeroskid stat --mix PROGRAM [ARGUMENTS]"});
    const std::string other = first_given({{!out.events.empty(), "-e"},
                                           {!out.metrics.empty(), "-M"},
                                           {out.detail != 0, "-d"},
                                           {!out.windows.every.empty(), "-I"},
                                           {out.repeat > 1, "-r"},
                                           {out.json, "-j"},
                                           {!out.separator.empty(), "-x"}});
    if (!other.empty())
      return refused({other + " and --mix exclude each other: it counts what instructions are, not events",
                      "leave one of them out"});
    if (!out.mix.empty() && out.mix != "true" && out.mix != "function")
      return refused({"--mix=" + out.mix + ": no such rows", "--mix, --mix=function, --opcodes"});
    out.program = line.program();
    return std::nullopt;
  }
  if (out.null && out.events.empty()) out.events = {"task-clock"};
  if (out.log_fd != 0 && !out.output.empty()) return refused({"-o and --log-fd exclude each other", ""});
  take_cpu_list(out.run, out.back_end);
  auto chosen = check_times(out);
  if (chosen) chosen = choose_kernel_counting(out);
  if (chosen && !out.perf_events) chosen = choose_counting(out);
  if (!chosen) return refused(chosen.error());
  if (line.program().empty() && !(out.perf_events && out.perf_events->targets.is_watching()))
    return refused({"no program to count", "zeroskid stat [OPTIONS] PROGRAM [ARGUMENTS]"});
  if (out.delay != 0 && !out.perf_events && !out.quiet)
    say("-D: the software PMU's counts are of the whole run; --region WHERE counts a part of it, -I windows");
  out.program = line.program();
  return std::nullopt;
}

}  // namespace zs::cli
