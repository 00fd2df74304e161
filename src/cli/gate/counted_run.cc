#include "cli/gate/counted_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/descriptor.h"
#include "cli/command/say.h"
#include "cli/command/scratch_folder.h"
#include "cli/run/detail_choice.h"
#include "cli/run/region_options.h"
#include "cli/stat/stat_regions.h"
#include "cli/stat/stat_totals.h"
#include "report/diff/recording_counts.h"

namespace zs::cli {
namespace {

class GateSink final : public RecordingSink {
 public:
  explicit GateSink(const StatOptions& options)
      : totals(options.config.events.size(), options.config.estimated_events().size()),
        regions(options.config.events.size(), options.config.estimated_events().size(), options.regions) {}

  void receive(session::Message&& message) override {
    regions.look_at(message);
    totals.receive(std::move(message));
  }

  StatTotals totals;
  StatRegions regions;
};

/// What further runs read: from where the first began, if standard input can go back there.
class InputAgain {
 public:
  void rewind() const {
    if (began_ >= 0) lseek(STDIN_FILENO, began_, SEEK_SET);
  }
  bool can() const {
    struct stat input {};
    return began_ >= 0 || fstat(STDIN_FILENO, &input) != 0 || S_ISCHR(input.st_mode);
  }

 private:
  off_t began_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
};

/// As long as it lives nothing reaches standard output and standard error.
class Muted {
 public:
  Muted() : null_(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = Descriptor(fcntl(kStreams[i], F_DUPFD_CLOEXEC, 3));
      dup2(null_.get(), kStreams[i]);
    }
  }
  ~Muted() {
    for (std::size_t i = 0; i < kept_.size(); ++i) dup2(kept_[i].get(), kStreams[i]);
  }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;

 private:
  static constexpr std::array<int, 2> kStreams = {STDOUT_FILENO, STDERR_FILENO};
  Descriptor null_;
  std::array<Descriptor, kStreams.size()> kept_;
};

/// A row for each event. "": or why there is none
std::string add_rows(const StatOptions& options, const std::string& name, const std::vector<std::uint64_t>& counts,
                     const session::UnitSums& units, std::vector<GateRow>& rows) {
  Counted counted{.counts = {}, .units = nullptr, .columns = &options.report.estimated};
  if (!options.report.estimated.empty()) counted.units = &units;
  for (const std::uint64_t count : as_printed(counts, options)) counted.counts.push_back(static_cast<double>(count));
  for (std::size_t i = 0; i < options.report.events.size(); ++i) {
    const StatEvent& event = options.report.events[i];
    const Estimate estimate = estimate_of(counted, i);
    if (!estimate.has_number()) return name + ": too few of " + event.name + " for an estimate: " + estimate.too_few;
    const double half = estimate.half_width.value_or(0), value = std::round(estimate.value);
    rows.push_back({.name = name,
                    .event = event.name,
                    .value_class = std::string(name_of(class_of(counted.units, event.number_class))),
                    .value = value,
                    .low = std::max(0.0, value - std::ceil(half)),
                    .high = value + std::ceil(half)});
  }
  return "";
}

/// returns why it is not to be compared; "": it is
std::string count_once(StatOptions& options, const ProgramToRun& program, OwnSignals& signals, GateRun& run,
                       bool& failed) {
  GateSink sink(options);
  Collector collector(sink, options.config, options.instruction_event, false, [](const Progress& /*now*/) {});
  ProgramEnd end;
  failed = !run_and_collect(program, options.config, collector, signals, end) || !end.ran || signals.asked_to_end();
  if (failed) return "";
  if (WIFSIGNALED(end.wait_status))
    return fmt::format("the program was killed by signal {} ({})", WTERMSIG(end.wait_status),
                       strsignal(WTERMSIG(end.wait_status)));
  run.exit_status = exit_status_of(end.wait_status);
  if (sink.totals.incomplete() || end.still_running != 0)
    return "a process of the program was killed before it could report, or still runs";
  std::string problem = add_rows(options, kWholeRunName, sink.totals.totals(), sink.totals.units(), run.rows);
  for (const RegionTotals& region : sink.regions.totals()) {
    if (!problem.empty() || region.entries == 0) continue;  // one that was never entered has no rows, and is missed
    problem = add_rows(options, region.name, region.sum, region.units, run.rows);
  }
  return problem;
}

/// Where else another placement counted.
std::string widen(GateRun& run, const GateRun& other) {
  const auto exits = [](const GateRun& of) { return of.exit_status; };
  if (exits(run) != exits(other) || run.rows.size() != other.rows.size())
    return fmt::format("the program did otherwise in another placement: exit status {}, then {}", exits(run),
                       exits(other));
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    run.rows[i].low = std::min(run.rows[i].low, other.rows[i].low);
    run.rows[i].high = std::max(run.rows[i].high, other.rows[i].high);
  }
  return "";
}

}  // namespace

Result<GateRun> count_run(StatOptions& options, const ProgramToRun& program, std::uint64_t layouts, bool& failed) {
  const InputAgain input;
  failed = !input.can() && layouts > 1;
  if (failed) {
    say(Error{"--layouts: standard input can be read once only", "let it be a file: < FILE"});
    return GateRun{};
  }
  auto regions = find_regions(options.regions, program.path);
  if (!regions) return regions.error();
  options.config.regions = *std::move(regions);
  GateRun run;
  OwnSignals signals;
  for (std::uint64_t i = 0; i < layouts; ++i) {
    GateRun one{.version = ZEROSKID_VERSION,
                .model = options.config.cpu_model,
                .setting = fmt::format("modelled: {}{}; seed {}; cores {}; machine: {}; environment: {}",
                                       core_in_words(options.config),
                                       options.config.in_units ? ", " + units_in_words(options.config.units) : "",
                                       options.run.seed, options.run.cores, shown_machine(options.config),
                                       options.run.kept_variables.empty() ? "none" : options.run.kept_variables),
                .command = options.program,
                .layouts = layouts};
    input.rewind();
    options.config.placement = i == 0 ? 0 : options.run.seed << 32 | i;
    std::string problem = count_once(options, program, signals, one, failed);
    if (failed) return one;
    if (problem.empty() && i != 0) problem = widen(run, one);
    if (i == 0) run = std::move(one);
    if (!problem.empty()) return Error{problem, ""};
  }
  input.rewind();
  return run;
}

Result<profile::PerfDataReader> run_again(const Verb& verb, const StatOptions& options) {
  const InputAgain input;
  if (!input.can()) return Error{"standard input can be read once only", "let it be a file: < FILE"};
  const std::string name(verb.name);
  const ScratchFolder folder;
  if (folder.path().empty()) return Error{"no folder for a " + name + ": " + std::strerror(errno), "TMPDIR"};
  const std::string path = folder.path() + "/perf.data";
  std::vector<std::string> words{name,
                                 "-q",
                                 "--virtual-time",
                                 "-o",
                                 path,
                                 "--clean-env",
                                 options.run.kept_variables,
                                 "--seed",
                                 std::to_string(options.run.seed)};
  if (!options.run.cpu.name.empty()) words.insert(words.end(), {"--cpu", options.run.cpu.name});
  if (!options.run.level.empty()) words.insert(words.end(), {"--cpu-level", options.run.level});
  if (options.run.shown_cpus != 0) words.insert(words.end(), {"--cpus", std::to_string(options.run.shown_cpus)});
  if (options.run.vdso) words.emplace_back("--vdso");
  if (options.run.no_inherit) words.emplace_back("--no-inherit");
  if (&verb == &kTraceVerb) {
    for (const std::string& region : options.regions) words.insert(words.end(), {"--region", region});
  }
  words.emplace_back("--");
  words.insert(words.end(), options.program.begin(), options.program.end());
  {
    const Muted muted;
    verb.run({words});
  }
  input.rewind();
  auto reader = profile::PerfDataReader::open(path, {.traces = profile::Traces::Pieces});
  if (reader && (!reader->finished() || reader->damage())) return Error{"the " + name + " is not whole", ""};
  return reader;
}

Result<report::EventCounts> count_functions(const StatOptions& options) {
  const auto reader = run_again(kProfileVerb, options);
  if (!reader) return reader.error();
  profile::Symbolizer symbolizer;
  std::vector<report::EventCounts> events = report::recording_counts(*reader, symbolizer, true);
  if (events.empty()) return Error{"the profile is empty", ""};
  return std::move(events.front());
}

}  // namespace zs::cli
