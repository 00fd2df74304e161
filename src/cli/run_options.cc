#include "cli/run_options.h"

#include "arch/cpu_model.h"

namespace zs::cli {

void add_run_options(CommandLine& line, RunOptions& options) {
  options.cpu = arch::kDefaultCpuModel;
  line.group("The run");
  line.value("--cpu,--model", options.cpu, "NAME", "CPU model, NAME@VERSION [" + options.cpu + "]");
  line.number("--seed", options.seed, 0, "N", "Seed of everything that is left to chance [1]");
  line.flag("--virtual-time", options.virtual_time,
            "Clocks, process ids and random numbers depend on the run alone, so that it\nrepeats exactly");
  line.flag("--vdso", options.vdso, "Give the program the kernel's vdso (its clocks are then not system calls)");
  line.flag("-i,--no-inherit", options.no_inherit, "Leave child processes, and what they execute, alone");
  line.group("Checking zeroskid itself");
  line.flag("--precise-only", options.precise_only, "Run every instruction in the slow, precise way");
  line.number("--max-block", options.max_block_instructions, 1, "N", "Translate at most N instructions at a time [32]");
  line.group("");  // understood, and refused with a reason
  line.value("-p,--pid", options.pid, "PID", "");
  line.value("-t,--tid", options.tid, "TID", "");
  line.flag("-a,--all-cpus", options.all_cpus, "");
  line.group("Options");
}

Result<void> check_run_options(const RunOptions& options) {
  const char* const kHint = "start the program under zeroskid instead";
  if (!options.pid.empty()) return Error{"-p: attaching to a running process is not supported yet", kHint};
  if (!options.tid.empty()) return Error{"-t: attaching to a running thread is not supported yet", kHint};
  if (options.all_cpus) return Error{"-a: a software PMU sees the programs it runs, not the whole system", kHint};
  return {};
}

void apply(const RunOptions& options, session::RecordingConfig& config) {
  config.seed = options.seed;
  config.virtual_time = options.virtual_time;
  config.vdso = options.vdso;
  config.inherit = !options.no_inherit;
  config.precise_only = options.precise_only;
  config.max_block_instructions = static_cast<std::uint32_t>(options.max_block_instructions);
}

}  // namespace zs::cli
