#include "cli/perf_events/back_end.h"

#include <algorithm>
#include <utility>

#include "arch/cpu_model.h"
#include "cli/command/words.h"
#include "host/machine_facts.h"

namespace zs::cli {
namespace {

/// What in these words only the kernel can do; "" if nothing.
std::string only_the_kernel(const BackEndWords& words) {
  if (!words.pids.empty()) return "-p watches a running process";
  if (!words.tids.empty()) return "-t watches a running thread";
  if (words.all_cpus) return "-a watches the whole system";
  if (!words.cpus.empty()) return "-C watches whole CPUs";
  if (words.all_kernel) return "--all-kernel looks at the kernel alone";
  if (words.per_thread) return "--per-thread is about rings of the kernel's";
  return "";
}

/// Opens a few events to find out: not to be asked where it does not matter.
bool has_pmu() { return host::ask_this_machine().perf.instructions.worked(); }

bool is_auto(const BackEndWords& words) { return words.pmu.empty() || words.pmu == "auto"; }

Result<std::vector<host::KernelEvent>> events_of(const std::vector<std::string>& lists) {
  std::vector<host::KernelEvent> all;
  for (const std::string& list : lists) {
    auto events = host::parse_kernel_events(list);
    if (!events) return events.error();
    const std::size_t before = all.size();
    for (host::KernelEvent& event : *events) {
      event.leader += before;
      all.push_back(std::move(event));
    }
  }
  return all;
}

Result<host::Targets> targets_of(const BackEndWords& words) {
  host::Targets targets;
  for (const auto& [option, lists, into] :
       {std::tuple{"-p", &words.pids, &targets.processes}, {"-t", &words.tids, &targets.threads}}) {
    for (const std::string& list : *lists) {
      auto ids = host::parse_ids(option, list);
      if (!ids) return ids.error();
      into->insert(into->end(), ids->begin(), ids->end());
    }
  }
  if (!words.cpus.empty()) {
    auto cpus = host::parse_cpus(words.cpus);
    if (!cpus) return Error{"-C " + cpus.error().message, cpus.error().hint};
    targets.cpus = *std::move(cpus);
  }
  targets.all_cpus = words.all_cpus;
  targets.per_thread = words.per_thread;
  if (targets.is_attached() && words.all_cpus)
    return Error{"-a and -p or -t exclude each other", "-a watches every process there is"};
  if (words.per_thread && targets.is_system())
    return Error{"--per-thread: a whole CPU has no threads of its own", "leave it out, or name processes with -p"};
  return targets;
}

}  // namespace

void add_back_end_options(CommandLine& line, BackEndWords& words, const BackEndOptions& options) {
  line.group("Who counts");
  line.value("--pmu", words.pmu, "auto|hw|sw",
             options.kernels_own_events
                 ? "The software PMU (sw), or the kernel through perf_event_open (hw), which has the processor's\n"
                   "events where there are any, and cpu-clock, page-faults; never both [auto: hw for what sw cannot do]"
                 : "The software PMU (sw), or the processor's through perf_event_open (hw), where there is one;\n"
                   "never both [auto: hw for what sw cannot do]");
  line.values("-p,--pid", words.pids, "PID[,PID...]", "Processes that run already, and their threads and children");
  line.values(options.t_is_tid ? "-t,--tid" : "--tid", words.tids, "TID[,TID...]", "Threads that run already");
  line.flag("-a,--all-cpus", words.all_cpus, "The whole system");
  line.value("-C,--cpu-list", words.cpus, "CPU[-CPU][,...]", "These CPUs only");
  line.flag("--all-user", words.all_user, "User space alone, as EVENT:u");
  line.flag("--all-kernel", words.all_kernel, "The kernel alone, as EVENT:k");
  if (options.rings_by_thread)
    line.flag("--per-thread", words.per_thread, "Each thread by itself, without those it starts: one ring a thread");
}

void take_cpu_list(RunOptions& run, BackEndWords& words) {
  const bool list = run.cpu.name.find_first_not_of("0123456789,-") == std::string::npos;
  if (run.cpu.option != "--cpu" || run.cpu.name.empty() || !list) return;
  words.cpus = std::exchange(run.cpu.name, CpuChoice().name);
}

Result<void> check_back_end(const BackEndWords& words) {
  if (words.pmu == "sw") {
    const std::string because = only_the_kernel(words);
    if (because.empty()) return {};
    return Error{"--pmu=sw: " + because + ", and the software PMU sees only programs that it starts",
                 "--pmu=hw, or start the program under zeroskid"};
  }
  if (!is_auto(words) && words.pmu != "hw") return Error{"--pmu=" + words.pmu + ": no such PMU", "auto, hw or sw"};
  return {};
}

bool asks_for_the_kernel(const BackEndWords& words) {
  return words.pmu == "hw" || (words.pmu != "sw" && !only_the_kernel(words).empty());
}

std::string why_software(const BackEndWords& words) {
  if (words.pmu.empty()) return "";
  if (words.pmu == "sw") return ", because --pmu=sw asks for it";
  return has_pmu() ? ", because it can do all of this: --pmu=hw takes the processor's"
                   : ", because this machine has no other that perf_event_open reaches";
}

std::string option_of_the_software_pmu(const RunOptions& run) {
  return first_given({{run.virtual_time, "--virtual-time"},
                      {run.detail != "auto", "--detail"},
                      {!run.model_settings.empty(), "--model-set"},
                      {run.cores != 0, "--cores"},
                      {run.cpu.name != arch::kDefaultCpuModel, "--model"},
                      {run.precise_only, "--precise-only"}});
}

Error not_the_kernels(const std::string& option) {
  return {option + ": only the software PMU knows it, and here the kernel counts", "--pmu=sw, or leave it out"};
}

Result<std::optional<PerfEventsChoice>> choose_back_end(const BackEndWords& words,
                                                        const std::vector<std::string>& lists, UsualEvents usual) {
  if (auto right = check_back_end(words); !right) return right.error();
  if (words.pmu == "sw") return std::optional<PerfEventsChoice>();
  std::string because = only_the_kernel(words);

  const bool left_to_us = is_auto(words) && because.empty();
  if (left_to_us && lists.empty()) return std::optional<PerfEventsChoice>();
  auto events = events_of(lists.empty() ? std::vector{usual(has_pmu())} : lists);
  if (left_to_us) {
    if (!events || !std::ranges::all_of(*events, host::is_software)) return std::optional<PerfEventsChoice>();
    because =
        events->size() == 1 ? events->front().name + " is an event of the kernel" : "all events are the kernel's own";
  }
  if (!events) return events.error();
  for (host::KernelEvent& event : *events) {
    if (!words.all_user && !words.all_kernel) break;
    event.attr.exclude_user = words.all_kernel ? 1 : 0;
    event.attr.exclude_kernel = event.attr.exclude_hv = words.all_user ? 1 : 0;
    event.rings_said = true;
  }
  auto targets = targets_of(words);
  if (!targets) return targets.error();
  return std::optional(PerfEventsChoice{.because = because.empty() ? "--pmu=hw asks for it" : std::move(because),
                                        .targets = *std::move(targets),
                                        .events = *std::move(events)});
}

bool leave_out_the_kernel(std::vector<host::KernelEvent>& events, const host::Permissions& permissions) {
  if (host::may_see_the_kernel(permissions)) return false;
  bool changed = false;
  for (host::KernelEvent& event : events) {
    if (event.rings_said) continue;
    event.attr.exclude_kernel = event.attr.exclude_hv = 1;
    changed = true;
  }
  return changed;
}

std::string perf_events_line(const PerfEventsChoice& choice) {
  std::vector<std::string> names;
  for (const host::KernelEvent& event : choice.events) names.push_back(event.name);
  return "# perf_event_open: " + joined(names) + ", because " + choice.because + "\n";
}

}  // namespace zs::cli
