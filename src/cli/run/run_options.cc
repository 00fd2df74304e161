#include "cli/run/run_options.h"

#include <filesystem>
#include <system_error>

#include "cli/command/memory_size.h"
#include "cli/run/user_cache.h"

namespace zs::cli {
namespace {

/// The program may go to another folder.
std::string absolute(const std::string& folder) {
  std::error_code problem;
  std::string whole = std::filesystem::absolute(folder, problem);
  make_private_folder(whole);
  return whole;
}

}  // namespace

void add_run_options(CommandLine& line, RunOptions& options) {
  line.group("The run");
  line.named_value(
      "--cpu,--model", options.cpu.name, options.cpu.option, "MODEL",
      "CPU model (`zeroskid list models`), or host: the nearest to this machine's [" + options.cpu.name + "]");
  line.values("--model-set", options.model_settings, "KEY=VALUE",
              "What if: another number in the modelled core, as l2.bytes=2M; a wrong KEY is told the known ones");
  line.number("--cores", options.cores, 1, "N", "Modelled cores that threads are placed on, in turn [8]");
  line.value("--detail", options.detail, "auto|complete|sampled",
             "How much of the program is modelled: all of it, or its first ten million instructions and\n"
             "then units, from which estimates with intervals follow [auto: sampled, but with windows below\n"
             "32,000,000 instructions, --skid and c2c record].\n"
             "Complete at a depth: exact (no core at all), full");
  line.value("--error", options.error, "PERCENT",
             "Take units more densely until the first estimate is as sure as +- PERCENT, and say whether it became so");
  if (!options.has_budget) {
    line.value("--budget", options.budget, "TIMES",
               "Take as many units as a run allows that costs TIMES native, as 3x; it goes by the clock, so no two\n"
               "runs take the same");
  }
  line.number("--seed", options.seed, 0, "N", "Seed of everything that is left to chance [1]");
  line.flag("--virtual-time", options.virtual_time,
            "Clocks, process ids, random numbers and the order of processes, of which one\nruns at a time, depend on "
            "the run alone, so that it repeats exactly");
  line.value("--cpu-level", options.level, "host|x86-64|x86-64-v2|x86-64-v3|x86-64-v4",
             "With --virtual-time: the program sees a processor with just these features, and a machine that is\n"
             "the same everywhere [x86-64-v3, or the highest level below it that this machine has]");
  line.number("--cpus", options.shown_cpus, 1, "N", "Processors of that machine [4]");
  line.value("--clean-env", options.kept_variables, "NAME,...",
             "The program's environment is these variables, and PATH, HOME and LC_ALL with fixed values;\n"
             "*: all [" +
                 std::string(options.kept_variables.empty() ? "none" : "*") + "]");
  line.flag("--vdso", options.vdso, "Give the program the kernel's vdso (its clocks are then not system calls)");
  line.flag("-i,--no-inherit", options.no_inherit, "Leave child processes, and what they execute, alone");
  line.flag("--no-cache", options.no_cache, "Neither use nor keep translations of other runs");
  line.value("--cache-dir", options.cache_folder, "FOLDER",
             "Where they are kept [$XDG_CACHE_HOME/zeroskid/translations, or below ~/.cache]");
  line.value("--cache-size", options.cache_size, "SIZE",
             "At most so many bytes of them, with K, M or G; the least recently used go [512M]");
  line.group("");  // for who changes zeroskid: CONTRIBUTING.md says what each does
  line.flag("--precise-only", options.precise_only, "");
  line.flag("--check-cache", options.check_cache, "");
  line.flag("--cache-statistics", options.cache_statistics, "");
  line.number("--max-block", options.max_block, 1, "N", "");
  line.value("--units", options.units, "UNIT:WARM_UP:FIRST:LONGEST[:COMPLETE]", "");
  if (!options.has_targets) {  // understood, and refused with a reason
    line.value("-p,--pid", options.pid, "PID", "");
    line.value(options.t_is_tid ? "-t,--tid" : "--tid", options.tid, "TID", "");
    line.flag("-a,--all-cpus", options.all_cpus, "");
  }
  line.group("Options");
}

Result<void> check_run_options(const RunOptions& options) {
  const char* const kHint =
      "start the program under zeroskid; `zeroskid record` and `zeroskid stat` can attach, by the kernel's counters";
  if (!options.pid.empty()) return Error{"-p: attaching to a running process is not supported yet", kHint};
  if (!options.tid.empty()) return Error{"-t: attaching to a running thread is not supported yet", kHint};
  if (options.all_cpus) return Error{"-a: a software PMU sees the programs it runs, not the whole system", kHint};
  if (!options.virtual_time && (!options.level.empty() || options.shown_cpus != 0))
    return Error{"--cpu-level and --cpus: the program sees another machine in virtual time only", "add --virtual-time"};
  if (const auto level = arch::cpu_level_of(options.level); !options.level.empty()) {
    const std::string hint = "host, x86-64, x86-64-v2, x86-64-v3, x86-64-v4";
    if (!level) return Error{"--cpu-level " + options.level + ": no such level", hint};
    if (*level == arch::CpuLevel::Host && options.shown_cpus != 0)
      return Error{"--cpus: with --cpu-level host the program sees this machine", "leave one of them out"};
    const std::string missing = *level == arch::CpuLevel::Host ? "" : arch::missing_here(*level);
    if (!missing.empty()) return Error{"--cpu-level " + options.level + ": this machine lacks " + missing, hint};
  }
  constexpr std::uint64_t kMostCpus = 64;
  if (options.shown_cpus > kMostCpus)
    return Error{"--cpus " + std::to_string(options.shown_cpus) + ": too many", "at most " + std::to_string(kMostCpus)};
  if (!parse_memory_size(options.cache_size))
    return Error{"--cache-size " + options.cache_size + ": no size", "a number with K, M or G, for example 512M"};
  if (!options.cache_folder.empty() && !options.no_cache) {
    const std::string why_not = unusable_because(absolute(options.cache_folder));
    if (!why_not.empty()) {
      return Error{"--cache-dir " + options.cache_folder + ": nothing can be kept there: " + why_not,
                   "a folder of yours with mode 0700 (chmod 700), or --no-cache"};
    }
  }
  return {};
}

std::string shown_machine(const engine::RunSettings& settings) {
  if (settings.cpu_level == arch::CpuLevel::Host) return "";
  return std::string(arch::name_of(settings.cpu_level)) + ", " + std::to_string(settings.cpus) +
         (settings.cpus == 1 ? " processor" : " processors");
}

void apply(const RunOptions& options, session::RecordingConfig& config) {
  static_cast<engine::RunSettings&>(config) = options;
  config.inherit = !options.no_inherit;
  if (options.virtual_time) config.cpu_level = arch::cpu_level_of(options.level).value_or(arch::usual_level());
  if (options.shown_cpus != 0) config.cpus = static_cast<std::uint32_t>(options.shown_cpus);
  config.check_cache = options.check_cache && !options.no_cache;
  if (!options.no_cache) {
    config.cache_directory = options.cache_folder.empty() ? translations_folder() : absolute(options.cache_folder);
    config.cache_bytes = parse_memory_size(options.cache_size).value_or(0);
  }
  config.max_block_instructions = static_cast<std::uint32_t>(options.max_block);
}

}  // namespace zs::cli
