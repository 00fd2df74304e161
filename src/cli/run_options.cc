#include "cli/run_options.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "arch/cpu_model.h"
#include "cli/boot_options.h"
#include "cli/user_cache.h"
#include "session/core_choice.h"

namespace zs::cli {
namespace {

using session::Detail;

constexpr std::uint32_t kUsualCores = 8;  // chosen: as many threads as most programs have at work

struct NamedDetail {
  std::string_view name;
  Detail detail;
};
/// The program may go to another folder.
std::string absolute(const std::string& folder) {
  std::error_code problem;
  std::string whole = std::filesystem::absolute(folder, problem);
  make_private_folder(whole);
  return whole;
}

constexpr NamedDetail kDetails[] = {{"exact", Detail::Exact}, {"fast", Detail::Fast}, {"full", Detail::Full}};

}  // namespace

void add_run_options(CommandLine& line, RunOptions& options) {
  line.group("The run");
  line.named_value(
      "--cpu,--model", options.cpu.name, options.cpu.option, "MODEL",
      "CPU model (`zeroskid list models`), or host: the nearest to this machine's [" + options.cpu.name + "]");
  line.values("--model-set", options.model_settings, "KEY=VALUE",
              "What if: another number in the modelled core, as l2.bytes=2M; a wrong KEY is told the known ones");
  line.number("--cores", options.cores, 1, "N", "Modelled cores that threads are placed on, in turn [8]");
  line.value("--detail", options.detail, "exact|fast|full",
             "What is played of the core: nothing; caches, TLBs, branch prediction; its time too\n"
             "[as much as the events need]");
  line.number("--seed", options.seed, 0, "N", "Seed of everything that is left to chance [1]");
  line.flag("--virtual-time", options.virtual_time,
            "Clocks, process ids, random numbers and the order of processes, of which one\nruns at a time, depend on "
            "the run alone, so that it repeats exactly");
  line.flag("--vdso", options.vdso, "Give the program the kernel's vdso (its clocks are then not system calls)");
  line.flag("-i,--no-inherit", options.no_inherit, "Leave child processes, and what they execute, alone");
  line.flag("--no-cache", options.no_cache, "Neither use nor keep translations of other runs");
  line.value("--cache-dir", options.cache_folder, "FOLDER",
             "Where they are kept [$XDG_CACHE_HOME/zeroskid/translations, or below ~/.cache]");
  line.value("--cache-size", options.cache_size, "SIZE",
             "At most so many bytes of them, with K, M or G; the least recently used go [512M]");
  line.group("Checking zeroskid itself");
  line.flag("--precise-only", options.precise_only, "Run every instruction in the slow, precise way");
  line.flag("--check-cache", options.check_cache,
            "Translate anew what is taken from the cache, and compare; with --virtual-time too");
  line.flag("--cache-statistics", options.cache_statistics,
            "Say for each process how many blocks it has translated, and taken from the cache");
  line.number("--max-block", options.max_block_instructions, 1, "N", "Translate at most N instructions at a time [32]");
  line.group("");  // understood, and refused with a reason
  line.value("-p,--pid", options.pid, "PID", "");
  line.value(options.t_is_tid ? "-t,--tid" : "--tid", options.tid, "TID", "");
  line.flag("-a,--all-cpus", options.all_cpus, "");
  line.group("Options");
}

Result<void> check_run_options(const RunOptions& options) {
  const char* const kHint = "start the program under zeroskid instead";
  if (!options.pid.empty()) return Error{"-p: attaching to a running process is not supported yet", kHint};
  if (!options.tid.empty()) return Error{"-t: attaching to a running thread is not supported yet", kHint};
  if (options.all_cpus) return Error{"-a: a software PMU sees the programs it runs, not the whole system", kHint};
  if (!parse_memory_size(options.cache_size))
    return Error{"--cache-size " + options.cache_size + ": no size", "a number with K, M or G, for example 512M"};
  return {};
}

void apply(const RunOptions& options, session::RecordingConfig& config) {
  config.seed = options.seed;
  config.virtual_time = options.virtual_time;
  config.vdso = options.vdso;
  config.inherit = !options.no_inherit;
  config.precise_only = options.precise_only;
  if (!options.no_cache) {
    config.cache_directory = options.cache_folder.empty() ? translations_folder() : absolute(options.cache_folder);
    config.cache_bytes = parse_memory_size(options.cache_size).value_or(0);
    config.check_cache = options.check_cache;
  }
  config.cache_statistics = options.cache_statistics;
  config.max_block_instructions = static_cast<std::uint32_t>(options.max_block_instructions);
}

Result<void> choose_detail(const RunOptions& options, const arch::CpuModel& model, session::RecordingConfig& config) {
  Detail needed = options.least_detail;
  for (const session::EventSpec& event : config.events) needed = std::max(needed, event.detail);
  config.detail = needed;
  if (!options.detail.empty()) {
    const auto named = std::ranges::find(kDetails, options.detail, &NamedDetail::name);
    if (named == std::end(kDetails))
      return Error{"--detail " + options.detail + ": no such depth", "exact, fast or full"};
    for (const session::EventSpec& event : config.events) {
      if (event.detail <= named->detail) continue;
      return Error{event.name + ": not modelled at --detail " + options.detail,
                   "--detail " + std::string(name_of(event.detail)) + ", or leave --detail out"};
    }
    config.detail = named->detail;
  }
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

std::string core_in_words(const session::RecordingConfig& config) {
  if (config.detail == Detail::Exact) return "nothing";
  std::string words(name_of(config.detail));
  for (const std::string& setting : config.model_settings) words += ", " + setting;
  return words;
}

std::string_view name_of(session::Detail detail) {
  const auto named = std::ranges::find(kDetails, detail, &NamedDetail::detail);
  return named == std::end(kDetails) ? "" : named->name;
}

}  // namespace zs::cli
