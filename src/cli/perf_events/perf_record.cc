#include "cli/perf_events/perf_record.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/units.h"
#include "cli/command/exit_status.h"
#include "cli/command/program_search.h"
#include "cli/command/say.h"
#include "cli/command/words.h"
#include "cli/events/branch_filter.h"
#include "cli/events/sample_fields.h"
#include "cli/perf_events/back_end.h"
#include "cli/perf_events/held_program.h"
#include "cli/run/collector.h"
#include "cli/run/own_signals.h"
#include "cli/run/progress_line.h"
#include "cli/run/run_program.h"
#include "host/machine_facts.h"
#include "host/open_events.h"
#include "host/running_processes.h"
#include "profile/perf_data/event_attr.h"
#include "profile/perf_data/perf_data_writer.h"
#include "profile/symbols/kernel_symbols.h"

namespace zs::cli {
namespace {

// Tells a recording what ran before it began: the kernel's own image, and names, threads, mappings.

/// At time 0: before everything that the kernel tells.
Result<void> tell_process(const host::RunningProcess& process, bool data_too, profile::PerfDataWriter& writer) {
  for (const host::RunningThread& thread : process.threads) {
    const bool first = thread.tid == process.pid;
    const profile::Fork fork{.pid = process.pid,
                             .parent_pid = first ? process.parent : process.pid,
                             .tid = thread.tid,
                             .parent_tid = first ? process.parent : process.pid};
    if (auto told = writer.fork(fork); !told) return told;
    if (auto told = writer.comm({.pid = process.pid, .tid = thread.tid, .name = thread.name}); !told) return told;
  }
  for (const host::RunningMapping& mapping : process.mappings) {
    if (!data_too && (mapping.protection & PROT_EXEC) == 0) continue;
    const profile::Mmap mmap{.pid = process.pid,
                             .tid = process.pid,
                             .start = mapping.start,
                             .length = mapping.end - mapping.start,
                             .file_offset = mapping.file_offset,
                             .protection = mapping.protection,
                             .flags = static_cast<std::uint32_t>(mapping.shared ? MAP_SHARED : MAP_PRIVATE),
                             .device_major = mapping.device_major,
                             .device_minor = mapping.device_minor,
                             .inode = mapping.inode,
                             .build_id = std::nullopt,
                             .path = mapping.path.empty() ? "//anon" : mapping.path};
    if (auto told = writer.mmap(mmap); !told) return told;
  }
  return {};
}

/// Where the kernel's code is, if events look there and this user may know. Reads the whole list of its symbols, which
/// takes some tenths of a second: before events are on, or they count for longer than was asked for.
Result<void> tell_kernel(const PerfEventsChoice& choice, profile::PerfDataWriter& writer) {
  const bool in_the_kernel =
      std::ranges::any_of(choice.events, [](const host::KernelEvent& event) { return event.attr.exclude_kernel == 0; });
  if (!in_the_kernel) return {};
  const profile::KernelIdentity kernel = profile::running_kernel();
  std::string problem;
  const std::string symbols = profile::kallsyms_of(kernel, problem);
  const std::uint64_t start = profile::address_in_kallsyms(symbols, "_text");
  const std::uint64_t end = profile::address_in_kallsyms(symbols, "_etext");
  if (start == 0 || end <= start) return {};
  return writer.mmap({.pid = -1,
                      .tid = 0,
                      .start = start,
                      .length = end - start,
                      .file_offset = start,
                      .protection = PROT_READ | PROT_EXEC,
                      .flags = MAP_PRIVATE,
                      .build_id = kernel.build_id,
                      .path = "[kernel.kallsyms]_text"});
}

/// Nothing for a program that is about to start: the kernel tells all of that.
Result<void> tell_what_runs(const PerfEventsChoice& choice, bool data_too, profile::PerfDataWriter& writer) {
  std::set<pid_t> pids(choice.targets.processes.begin(), choice.targets.processes.end());
  for (const pid_t thread : choice.targets.threads) {
    if (const auto process = host::process_of(thread)) pids.insert(*process);
  }
  if (choice.targets.is_system()) {
    for (const pid_t pid : host::all_processes()) pids.insert(pid);
  }
  for (const pid_t pid : pids) {
    const auto process = host::look_at_process(pid);
    if (!process) continue;  // it has ended meanwhile
    if (auto told = tell_process(*process, data_too, writer); !told) return told;
  }
  return {};
}

using Clock = std::chrono::steady_clock;

constexpr int kBreathMs = 100;
constexpr std::uint64_t kPageBytes = 4096;

profile::EventDescription describe(const host::KernelEvent& event, const PerfSampling& sampling) {
  const bool by_count = sampling.period != 0;
  return {.name = event.name,
          .type = event.attr.type,
          .config = event.attr.config,
          .config1 = event.attr.config1,
          .config2 = event.attr.config2,
          .period = by_count                  ? sampling.period
                    : sampling.frequency != 0 ? sampling.frequency
                                              : kUsualFrequency,
          .frequency = !by_count,
          .precise_ip = static_cast<std::uint8_t>(event.most_precise ? 3 : event.attr.precise_ip),
          .exclude_user = event.attr.exclude_user != 0,
          .exclude_kernel = event.attr.exclude_kernel != 0,
          .exclude_hypervisor = event.attr.exclude_hv != 0,
          .ids = {}};
}

profile::Machine machine_of_the_kernel() {
  profile::Machine machine = profile::this_machine();
  const host::CpuidFacts cpu = host::ask_cpuid();
  machine.cpu_description = cpu.brand;
  machine.cpu_id = cpu.vendor + "," + std::to_string(cpu.family) + "," + std::to_string(cpu.model) + "," +
                   std::to_string(cpu.stepping);
  machine.cpus = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  return machine;
}

std::vector<host::EventToOpen> to_open(const PerfRecording& recording) {
  std::vector<host::EventToOpen> events;
  const bool started = !recording.choice.targets.is_watching();
  for (std::size_t i = 0; i < recording.choice.events.size(); ++i) {
    const host::KernelEvent& event = recording.choice.events[i];
    const profile::perf::EventAttr in_file = profile::attr_of(recording.description, i);
    static_assert(sizeof in_file == sizeof(perf_event_attr));
    host::EventToOpen& one = events.emplace_back(
        host::EventToOpen{.name = event.name, .attr = {}, .leader = event.leader, .most_precise = event.most_precise});
    std::memcpy(&one.attr, &in_file, sizeof in_file);
    one.attr.enable_on_exec = started;
    one.attr.exclude_host = event.attr.exclude_host;
    one.attr.pinned = event.attr.pinned;
    one.attr.exclusive = event.attr.exclusive;
    one.attr.watermark = 1;  // wake us when half of a ring is full
    one.attr.wakeup_watermark = static_cast<std::uint32_t>(recording.ring_pages * kPageBytes / 2);
  }
  return events;
}

/// What the kernel says of itself among its records.
struct KernelTale {
  std::uint64_t lost = 0, throttled = 0;
};

void look_at(Bytes record, KernelTale& tale) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  std::uint64_t words[2] = {};
  std::memcpy(words, record.data() + sizeof header, std::min(sizeof words, record.size() - sizeof header));
  if (header.type == PERF_RECORD_LOST) tale.lost += words[1];
  if (header.type == PERF_RECORD_LOST_SAMPLES) tale.lost += words[0];
  if (header.type == PERF_RECORD_THROTTLE) ++tale.throttled;
}

/// Takes records out of the rings until there is no reason to go on.
class PerfRun {
 public:
  PerfRun(host::OpenEvents& events, profile::PerfDataWriter& writer, OwnSignals& signals, ProgressLine& progress)
      : events_(events), writer_(writer), signals_(signals), progress_(progress) {}

  /// program  -1: there is none
  /// returns its wait status; 0 without one
  int until_the_end(pid_t program) {
    const Clock::time_point start = Clock::now();
    std::vector<pollfd> sources;
    for (const int ring : events_.ring_descriptors()) sources.push_back({.fd = ring, .events = POLLIN, .revents = 0});
    sources.push_back({.fd = signals_.descriptor(), .events = POLLIN, .revents = 0});
    int status = 0;
    for (bool go_on = true; go_on;) {
      poll(sources.data(), sources.size(), kBreathMs);
      for (pollfd& source : sources) {
        if ((source.revents & (POLLHUP | POLLERR)) != 0) source.fd = -1;  // its owner has ended: no more to wait for
      }
      go_on = program > 0 ? !has_ended(program, status) : !(signals_.take_request_to_end() || events_.all_ended());
      take_all();
      progress_.show({.seconds = std::chrono::duration<double>(Clock::now() - start).count(),
                      .samples = writer_.samples_written(),
                      .instructions = 0,
                      .bytes = writer_.bytes_written()});
    }
    events_.disable();
    take_all();
    return status;
  }

  const KernelTale& tale() const { return tale_; }
  bool failed() const { return error_.has_value(); }

 private:
  bool has_ended(pid_t program, int& status) {
    signals_.pass_on(program);
    return waitpid(program, &status, WNOHANG) == program;
  }

  void take_all() {
    const std::uint64_t latest_before = writer_.latest_ns();
    keep(events_.drain([this](Bytes record) {
      look_at(record, tale_);
      keep(writer_.kernel_record(record));
    }));
    // Every ring was emptied: what it holds from now on was written after what the passes before this found.
    keep(writer_.round(latest_before));
    keep(writer_.flush());
  }

  void keep(const Result<void>& result) {
    if (result || error_) return;
    error_ = result.error();
    say(*error_);
  }

  host::OpenEvents& events_;
  profile::PerfDataWriter& writer_;
  OwnSignals& signals_;
  ProgressLine& progress_;
  KernelTale tale_;
  std::optional<Error> error_;
};

std::string summary_of(const profile::PerfDataWriter& writer) {
  const std::uint64_t samples = writer.samples_written();
  return "[ zeroskid record: " + with_thousands(samples) + (samples == 1 ? " sample" : " samples") + " -> " +
         writer.path() + " (" + byte_size(writer.bytes_written()) + ") ]\n";
}

void tell(const KernelTale& tale, std::uint64_t samples) {
  if (tale.lost != 0) {
    say(Error{with_thousands(tale.lost) + " records were lost: the rings were full",
              "a larger -m, or fewer samples with a larger -c or a smaller -F"});
  }
  if (tale.throttled != 0) {
    say(Error{"the kernel held sampling back " + with_thousands(tale.throttled) + " times: it took too much of a CPU",
              "a smaller -F, or as root: sysctl kernel.perf_event_max_sample_rate"});
  }
  if (samples == 0) say(Error{"no event came as often as its period", "-c 1 samples every event"});
}

}  // namespace

Result<profile::RecordingDescription> describe_perf_events(const PerfEventsChoice& choice,
                                                           const PerfSampling& sampling) {
  if (sampling.period != 0 && sampling.frequency != 0)
    return Error{"-c and -F exclude each other", "-c N: one sample every N events"};
  profile::RecordingDescription description;
  for (const host::KernelEvent& event : choice.events) description.events.push_back(describe(event, sampling));
  for (std::size_t i = 0; i < choice.events.size(); ++i) {
    const std::size_t leader = choice.events[i].leader;
    if (leader == i) continue;
    if (description.groups.empty() || description.groups.back().leader != leader)
      description.groups.push_back({.name = "", .leader = static_cast<std::uint32_t>(leader), .members = 1});
    ++description.groups.back().members;
  }
  if (!sampling.callchain.empty()) {
    const auto chosen = parse_callchain(sampling.callchain);
    if (!chosen) return chosen.error();
    if (chosen->mode == session::Callchain::Exact) {
      return Error{
          "--call-graph exact: the kernel unwinds by frame pointers; the software PMU alone gives exact stacks",
          "-g, --call-graph dwarf, or --pmu=sw"};
    }
    description.callchain = mode_in_file(chosen->mode);
    if (chosen->stack_bytes != 0) description.stack_bytes = chosen->stack_bytes;
  }
  if (!sampling.branches.empty()) {
    const auto filter = parse_branch_filter(sampling.branches);
    if (!filter) return filter.error();
    description.branch_filter = filter->perf;
    description.branch_prediction_known = true;
  }
  description.interrupt_registers = 0;
  if (!sampling.registers.empty()) {
    const auto mask = parse_registers(sampling.registers);
    if (!mask) return mask.error();
    description.interrupt_registers = *mask;
  }
  description.data_sources = description.data_mappings = sampling.data_sources;
  description.physical_addresses = sampling.physical_addresses;
  description.latencies = sampling.latencies;
  description.inherit = sampling.inherit && !choice.targets.per_thread;
  description.machine = machine_of_the_kernel();
  description.version = ZEROSKID_VERSION;
  description.notes = {{"back end", "perf_event_open"}, {"why", choice.because}};
  for (const profile::EventDescription& event : description.events)
    description.notes.push_back({"class of " + event.name, "measured by the kernel"});
  return description;
}

int record_perf_events(PerfRecording recording) {
  OwnSignals signals;
  std::optional<HeldProgram> program;
  if (!recording.program.empty()) {
    std::string path;
    if (const int status = find_in_path(recording.program.front(), path); status != 0) return status;
    auto held = HeldProgram::start(path, recording.program, signals);
    if (!held) return failed(held.error());
    program.emplace(*std::move(held));
  }
  host::allow_many_descriptors();  // ours alone: the program has its limit already

  const auto places = host::places_of(recording.choice.targets, program ? program->pid() : -1);
  if (!places) return failed(places.error());
  std::vector<host::EventToOpen> to_be_opened = to_open(recording);
  auto events = host::OpenEvents::open(to_be_opened, *places, recording.ring_pages * kPageBytes, recording.permissions);
  if (!events) return failed(events.error());
  for (std::size_t i = 0; i < to_be_opened.size(); ++i) {
    recording.description.events[i].ids = events->ids(i);
    recording.description.events[i].precise_ip = static_cast<std::uint8_t>(to_be_opened[i].attr.precise_ip);
  }

  auto writer = profile::PerfDataWriter::create(recording.output, recording.description);
  if (!writer) return failed(writer.error());
  if (!recording.quiet) write_all(STDERR_FILENO, perf_events_line(recording.choice));
  if (auto told = tell_kernel(recording.choice, *writer); !told) return failed(told.error());
  const host::Targets& targets = recording.choice.targets;
  if (targets.is_watching()) events->enable();
  const bool data_too = recording.description.data_mappings;
  if (auto told = tell_what_runs(recording.choice, data_too, *writer); !told) return failed(told.error());

  ProgressLine progress(progress_style(recording.quiet, recording.verbose));
  PerfRun run(*events, *writer, signals, progress);
  if (program) {
    if (auto went = program->let_go(); !went) return failed(went.error());
  }
  ProgramEnd end;
  end.wait_status = run.until_the_end(program ? program->pid() : -1);
  progress.clear();
  const auto closed = writer->close(
      {.notes = {{"lost", std::to_string(run.tale().lost)}, {"throttled", std::to_string(run.tale().throttled)}}});
  if (program) say_how_it_ended({.runner = "", .path = "", .argv = recording.program}, end);
  if (!closed && !run.failed()) say(closed.error());
  if (!recording.quiet) write_all(STDERR_FILENO, summary_of(*writer));
  tell(run.tale(), writer->samples_written());
  return closed && !run.failed() ? exit_status_of(end.wait_status) : kToolFailed;
}

}  // namespace zs::cli
