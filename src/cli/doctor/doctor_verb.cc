// `zeroskid doctor`: what is possible on this machine, why the rest is not, and the exact remedy.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/scratch_folder.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/costs/costs.h"
#include "cli/doctor/doctor_page.h"
#include "cli/run/user_cache.h"
#include "host/diagnosis.h"
#include "host/machine_facts.h"

namespace zs::cli {
namespace {

// `doctor --measure`: how much longer a program runs under zeroskid, here. The program is built in, and
// runs natively and under each verb; what starting costs is taken off, by a run of no rounds.

struct Step {
  std::string_view name;
  std::vector<std::string> words;  // of zeroskid, before the program
};

/// What is measured with so many rounds of the workload, each so many times and in turn: some tenths of a second where
/// that costs little. Of the times the least counts: what else the machine does only ever adds.
struct Group {
  std::uint64_t rounds;
  int times;
  std::vector<Step> steps;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups = {
      {.rounds = 100,
       .times = 3,
       .steps = {{kCounting, {"stat", "-q", "-e", "instructions"}},
                 {kSampling, {"record", "-q", "-e", "instructions:ppp"}}}},
      {.rounds = 100,
       .times = 1,
       .steps = {{kSampledTopdown, {"topdown", "-q", "--detail", "sampled"}},
                 {kSampledMemRecord, {"mem", "record", "-q", "--detail", "sampled"}}}},
      {.rounds = 4,
       .times = 1,
       .steps = {{kTopdown, {"topdown", "-q", "--detail", "complete"}},
                 {kMemRecord, {"mem", "record", "-q", "--detail", "complete"}},
                 {kTrace, {"trace", "-q"}}}},
  };
  return kGroups;
}

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

/// Runs `words` silently in `folder`. returns the CPU time of it and of its children, milliseconds
Result<double> cpu_ms_of(std::vector<std::string> words, const std::string& folder) {
  const std::vector<char*> argv = pointers_to(words);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  pid_t child = -1;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Error{std::string("doctor --measure: cannot start itself: ") + std::strerror(error), ""};
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string command = "zeroskid";
    for (std::size_t i = 1; i < words.size(); ++i) command += " " + words[i];
    return Error{"doctor --measure: " + command + " fails", "run it to see why"};
  }
  return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

/// Milliseconds: of no rounds, and of all.
struct Times {
  double start = std::numeric_limits<double>::infinity(), all = start;
};

/// Runs the workload once more, natively or, with words `before` the program, under zeroskid. Its times are lowered
/// where it was faster.
Result<void> run_again(const std::vector<std::string>& before, std::uint64_t rounds, const std::string& folder,
                       Times& times) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> words = {self};
  words.insert(words.end(), before.begin(), before.end());
  if (!before.empty()) words.insert(words.end(), {"--", self});
  words.insert(words.end(), {"doctor", "--workload", "0"});
  const auto start = cpu_ms_of(words, folder);
  if (!start) return start.error();
  words.back() = std::to_string(rounds);
  const auto all = cpu_ms_of(words, folder);
  if (!all) return all.error();
  times = {.start = std::min(times.start, *start), .all = std::min(times.all, *all)};
  return {};
}

Result<void> measure(const Group& group, const std::string& folder, const std::function<void(std::string_view)>& now,
                     Costs& costs) {
  Times native;
  std::vector<Times> under(group.steps.size());
  for (int i = 0; i < group.times; ++i) {
    if (auto ran = run_again({}, group.rounds, folder, native); !ran) return ran;
    for (std::size_t step = 0; step < under.size(); ++step) {
      if (i == 0) now(group.steps[step].name);
      if (auto ran = run_again(group.steps[step].words, group.rounds, folder, under[step]); !ran) return ran;
    }
  }
  const double native_ms = native.all - native.start;
  if (native_ms <= 0) return Error{"doctor --measure: this machine's CPU clock does not move", ""};
  if (costs.rows.empty()) costs.start_ms = under.front().start - native.start;
  costs.native_ms = std::max(costs.native_ms, native_ms);
  for (std::size_t step = 0; step < under.size(); ++step) {
    costs.rows.push_back({std::string(group.steps[step].name), (under[step].all - under[step].start) / native_ms});
  }
  return {};
}

/// now  is told what is being measured
Result<Costs> measure_costs(const std::function<void(std::string_view)>& now) {
  const ScratchFolder folder;
  if (folder.path().empty()) {
    return Error{"doctor --measure: no folder for recordings: " + std::string(std::strerror(errno)),
                 "set TMPDIR to one that can be written"};
  }
  Costs costs{.machine = this_machine(), .rows = {}};
  for (const Group& group : groups()) {
    if (auto measured = measure(group, folder.path(), now, costs); !measured) return measured.error();
  }
  return costs;
}

// A program that does a little of everything: sorting (branches that cannot be foreseen), looking up (loads that miss),
// and arithmetic over rows (loops). The same on every machine.

/// Numbers that look like chance. source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003.
class Numbers {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }

 private:
  std::uint64_t state_ = 88172645463325252;
};

std::uint64_t sort_some(Numbers& numbers) {
  std::vector<std::uint64_t> some(16384);
  std::ranges::generate(some, [&] { return numbers.next(); });
  std::ranges::sort(some);
  return some[some.size() / 3];
}

/// Each element names the next: a load waits for the one before.
std::uint64_t follow(const std::vector<std::uint32_t>& chain) {
  std::uint32_t at = 0;
  for (int i = 0; i < 100000; ++i) at = chain[at];
  return at;
}

std::uint64_t sum_rows(std::vector<double>& rows) {
  for (int pass = 0; pass < 20; ++pass) {
    for (std::size_t i = 1; i < rows.size(); ++i) rows[i] = rows[i - 1] * 0.25 + rows[i] * 0.5 + 1.0;
  }
  return static_cast<std::uint64_t>(rows.back() * 1000);
}

/// Some milliseconds of a processor of today for each round. returns a sum over everything, so that none of it can be
/// left out
std::uint64_t do_workload(std::uint64_t rounds) {
  if (rounds == 0) return 0;
  Numbers numbers;
  std::vector<std::uint32_t> chain(std::size_t{1} << 18);  // 1 MiB
  for (std::size_t i = 0; i < chain.size(); ++i) chain[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = chain.size() - 1; i > 0; --i) std::swap(chain[i], chain[numbers.next() % i]);  // one cycle
  std::vector<double> rows(16384, 1.0);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) sum += sort_some(numbers) + follow(chain) + sum_rows(rows);
  return sum;
}

constexpr int kNothingWorks = 1;
constexpr ExitRow kDoctorStatuses[] = {
    {"0", "a back end works"},
    {"1", "none does"},
    {"125", "what --measure runs fails"},
    {"129", "wrong usage"},
};

constexpr std::uint64_t kNoWorkload = UINT64_MAX;

/// Costs that cannot be kept are told all the same.
void keep(const Costs& costs) {
  const std::string path = costs_path();
  if (path.empty()) {
    say(Error{"doctor --measure: nowhere to keep the costs", "set HOME or XDG_CACHE_HOME"});
    return;
  }
  if (const auto kept = keep_costs(costs, path)) {
    say("doctor: kept in " + path + "; zeroskid --help shows them");
  } else {
    say(kept.error());
  }
}

int run_doctor(const Arguments& arguments) {
  CommandLine line("doctor",
                   "Says which back ends work on this machine, why the others do not, and what would change "
                   "that.",
                   "[--measure] [--json]");
  bool json = false, measure = false;
  std::uint64_t rounds = kNoWorkload;
  line.flag("--json", json, "One JSON object (docs/formats/doctor-json.md)");
  line.flag("--measure", measure,
            "How much longer programs run under zeroskid here; takes some seconds, and is kept for --help");
  line.group("");  // what --measure runs
  line.number("--workload", rounds, 0, "N", "");
  line.exit_statuses(kDoctorStatuses);
  if (const auto done = line.parse(arguments)) return *done;
  if (!line.program().empty())
    return refused({"doctor: there is nothing to do with '" + line.program().front() + "'",
                    "zeroskid doctor --help lists the options"});
  if (rounds != kNoWorkload) {
    write_all(STDOUT_FILENO, std::to_string(do_workload(rounds)) + "\n");
    return 0;
  }
  std::optional<Costs> costs;
  if (measure) {
    auto measured = measure_costs([](std::string_view now) { say("doctor: measuring " + std::string(now)); });
    if (!measured) return failed(measured.error());
    costs = *std::move(measured);
    keep(*costs);
  }
  const host::MachineFacts facts = host::ask_this_machine();
  const host::Diagnosis diagnosis = host::diagnose(facts);
  const KeptTranslations kept = kept_translations();
  if (json) {
    write_all(STDOUT_FILENO, doctor_json(facts, diagnosis, kept, costs));
  } else {
    write_prose(STDOUT_FILENO, doctor_page(facts, diagnosis, kept, costs));
  }
  return diagnosis.software.state == host::State::Ready ? 0 : kNothingWorks;
}

}  // namespace

const Verb kDoctorVerb{"doctor", "What works on this machine, and why the rest does not", run_doctor};

}  // namespace zs::cli
