#include "cli/costs/cost_measurement.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace zs::cli {
namespace {

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

/// A folder that is gone afterwards: recordings are written there.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "zeroskid-XXXXXX") {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Folder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

/// Runs `words` silently in `folder`. returns the CPU time of it and of its children, milliseconds
Result<double> cpu_ms_of(const std::vector<std::string>& words, const std::string& folder) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
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

}  // namespace

Result<Costs> measure_costs(const std::function<void(std::string_view)>& now) {
  const Folder folder;
  if (!folder.made()) {
    return Error{"doctor --measure: no folder for recordings: " + std::string(std::strerror(errno)),
                 "set TMPDIR to one that can be written"};
  }
  Costs costs{.machine = this_machine(), .rows = {}};
  for (const Group& group : groups()) {
    if (auto measured = measure(group, folder.path(), now, costs); !measured) return measured.error();
  }
  return costs;
}

}  // namespace zs::cli
