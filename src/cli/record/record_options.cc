#include "cli/record/record_options.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <utility>

#include "arch/events/tables.h"
#include "arch/records/bts.h"
#include "base/items.h"
#include "base/number.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/memory_size.h"
#include "cli/command/say.h"
#include "cli/command/words.h"
#include "cli/events/branch_filter.h"
#include "cli/events/sample_fields.h"
#include "cli/events/skid_option.h"
#include "cli/mem/memory_events.h"
#include "cli/perf_events/back_end.h"
#include "cli/record/sampled_events.h"
#include "cli/run/detail_choice.h"
#include "host/memory_accesses.h"
#include "profile/perf_data/event_attr.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/record_packer.h"
#include "session/driver/pmu_plan.h"
#include "session/wire/wire.h"

namespace zs::cli {
namespace {

using session::Callchain;

constexpr const char* kUsualEvent = "instructions:ppp";
constexpr const char* kUsualEventWithoutPebs = "instructions";
constexpr std::uint64_t kLeastThreshold = 3;  // the smallest latency that can be measured is 4

/// How much of a trace is kept, or of a profile.
struct TraceBoundWords {
  std::string max_size;
  std::uint64_t last_branches = 0;
  std::uint64_t contexts = 1 << 16;  // RecordKind::Profile; chosen: most programs have fewer
};

/// How often is sampled: -c, -F.
struct Often {
  std::uint64_t count = 0, frequency = 0;
  std::string typed;
};

struct Words {
  std::vector<std::string> events;
  Often often;
  std::uint64_t ds_records = 64;
  bool no_heap = false, heap = false, stacks = false, any_branch = false, data = false, weight = false, raw = false;
  std::string callchain, branches, registers, skid;
  RecordedTimesWords times;
  RecordKind kind = RecordKind::Plain;
  std::string formats;                  // RecordKind::Branches
  std::string compression;              // "": none; "true": the usual level
  TraceBoundWords bound;                // of a trace
  std::string accesses = "load,store";  // RecordKind::Memory
  std::uint64_t threshold = kUsualLatencyThreshold, schedule_seed = 0;
  RunOptions run;
  BackEndWords back_end;
  std::uint64_t ring_pages = 128;
};

/// zstd's level, of the option's value; 0: records are not compressed.
Result<int> compression_level(const std::string& text) {
  constexpr int kUsual = 1;
  if (text.empty()) return 0;
  if (text == "true") return kUsual;
  const int level = whole_number<int>(text).value_or(0);
  if (level < 1 || level > profile::RecordPacker::kHighestLevel) {
    return Error{"-z=" + text + ": no level of compression",
                 "1, which is the fastest, to " + std::to_string(profile::RecordPacker::kHighestLevel)};
  }
  return level;
}

Result<void> choose_branches(const Words& words, const arch::CpuModel& model, RecordOptions& out) {
  const bool wanted = words.any_branch || !words.branches.empty() || out.config.callchain == Callchain::LbrCallStack;
  if (wanted && !model.has_lbr()) {
    return Error{std::string(model.name) + " has no last-branch records",
                 "leave " +
                     std::string(out.config.callchain == Callchain::LbrCallStack ? "--call-graph lbr" : "-b and -j") +
                     " out, or take --model " + std::string(arch::kDefaultCpuModel)};
  }
  if (out.config.callchain == Callchain::LbrCallStack && !model.lbr_call_stack) {
    return Error{std::string(model.name) + ": its last-branch records have no call-stack mode",
                 "take --call-graph fp, or --model " + std::string(arch::kDefaultCpuModel)};
  }
  if (words.any_branch || !words.branches.empty()) {
    if (out.config.callchain == Callchain::LbrCallStack) {
      return Error{"-b and --call-graph lbr both need the LBR stack", "take --call-graph fp"};
    }
    const auto filter = parse_branch_filter(words.branches.empty() ? "any" : words.branches);
    if (!filter) return filter.error();
    out.config.branch_stack = true;
    out.config.lbr_select = words.kind == RecordKind::Outside ? 0 : filter->lbr_select;
    out.description.branch_filter =
        filter->perf | (words.kind == RecordKind::Outside ? profile::perf::branch_filter::kernel : 0);
  } else if (out.config.callchain == Callchain::LbrCallStack) {
    out.config.lbr_select = call_stack_select();
  }
  return {};
}

/// How much of a trace is kept.
Result<void> bound_trace(const Words& words, RecordOptions& out) {
  out.bound.branches = words.bound.last_branches;
  if (words.bound.max_size.empty()) return {};
  const auto bytes = parse_memory_size(words.bound.max_size);
  if (!bytes || *bytes < sizeof(arch::BtsRecord))
    return Error{"--max-size " + words.bound.max_size + ": no size", "a number with K, M or G, for example 512M"};
  out.bound.bytes = *bytes;
  return {};
}

/// Options of samples, beside a trace that has none.
Result<void> refuse_for_a_trace(const Words& words) {
  const std::string option = first_given({{words.often.count != 0, "-c"},
                                          {words.often.frequency != 0, "-F"},
                                          {words.stacks, "-g"},
                                          {!words.callchain.empty(), "--call-graph"},
                                          {words.any_branch, "-b"},
                                          {!words.branches.empty(), "-j"},
                                          {!words.registers.empty(), "--intr-regs"},
                                          {!words.skid.empty(), "--skid"},
                                          {words.data, "-d"},
                                          {words.weight, "-W"},
                                          {!words.times.delay.empty(), "-D"},
                                          {!words.times.control.empty(), "--control"},
                                          {words.raw, "-R"}});
  if (option.empty()) return {};
  return Error{"intel_bts//: traces every branch and takes no samples, of which " + option + " is",
               "leave " + option + " out"};
}

/// How late samples are taken, which each of them then says in its raw data.
Result<void> choose_skid(const Words& words, const arch::CpuModel& model, RecordOptions& out) {
  if (words.skid.empty()) return {};
  const std::string other = first_given({{words.raw, "-R"}, {words.data, "-d"}, {words.weight, "-W"}});
  if (!other.empty()) {
    return Error{other + " and --skid exclude each other: a sample that is taken late has no record",
                 "leave one of them out"};
  }
  auto in_words = set_sample_skid(words.skid, model, out.config);
  if (!in_words) return in_words.error();
  out.description.raw_records = true;
  out.description.notes.push_back({"skid", *std::move(in_words)});
  return {};
}

/// How often each instruction ran, and each branch was taken.
Result<void> choose_profile(const Words& words, const arch::CpuModel& model, RecordOptions& out) {
  choose_profile_events(out);
  if (auto detail = choose_detail(words.run, model, out.config, ""); !detail) return detail;
  if (out.config.detail == session::Detail::Exact) return {};
  return Error{"profile and --detail " + words.run.detail + " exclude each other: it counts exactly, without a model",
               "leave --detail out; stat and record have modelled events"};
}

Result<void> choose_events(const Words& words, const arch::CpuModel& model, RecordOptions& out) {
  if (words.often.count != 0 && words.often.frequency != 0)
    return Error{"-c and -F exclude each other", "-c N: one sample every N events"};
  const SamplingDefaults sampling{.sample = true,
                                  .period = words.often.count,
                                  .frequency = words.often.frequency != 0 ? words.often.frequency : kUsualFrequency,
                                  .ring_0 = words.kind == RecordKind::Outside};
  std::vector<std::string> names = words.events;
  if (words.kind == RecordKind::Branches) names = {"intel_bts//u"};
  if (names.empty() && samples_memory(words.kind)) {
    auto accesses = memory_events(words.accesses, words.threshold, model);
    if (!accesses) return accesses.error();
    names = std::move(*accesses);
  }
  if (names.empty()) names = {model.has_pebs() && words.skid.empty() ? kUsualEvent : kUsualEventWithoutPebs};
  auto selection = select_events(names, model, sampling);
  if (!selection) return selection.error();
  out.config.events = selection->events;
  if (out.config.traces_branches() && out.config.events.size() != 1)
    return Error{"intel_bts//: is recorded alone, without other events", "record them one after the other"};
  if (out.config.traces_branches()) {
    if (auto fits = refuse_for_a_trace(words); !fits) return fits;
  } else if (words.bound.last_branches != 0 || !words.bound.max_size.empty()) {
    return Error{"-S and --max-size: only a trace of branches is bounded",
                 "-e intel_bts//u traces; -c N makes fewer samples"};
  } else if (out.trace_filter.any()) {
    return Error{"--filter, --region and --thread: only a trace of branches is filtered", "-e intel_bts//u traces"};
  }
  if (auto bounded = bound_trace(words, out); !bounded) return bounded;
  if (auto late = choose_skid(words, model, out); !late) return late;
  out.instruction_event = instruction_event(*selection);
  for (const EventGroup& group : selection->groups) {
    out.description.groups.push_back({.name = "", .leader = group.leader, .members = group.members});
  }
  if (words.kind == RecordKind::Outside) {
    if (auto fits = see_both_rings(*selection, out.config.events); !fits) return fits;
  }
  for (const session::EventSpec& event : out.config.events) {
    using arch::PerfEvtSel;
    const std::uint64_t config = PerfEvtSel{event.select}.with(PerfEvtSel::user, 0).with(PerfEvtSel::kernel, 0).raw();
    if (event.kind == session::EventKind::BranchTrace) {
      out.description.events.push_back({.name = event.name, .type = profile::perf::kBranchTraceType, .period = 1});
      continue;
    }
    if (is_ibs(event.kind)) {
      // The kernel takes no exclusion of rings for it.
      out.description.events.push_back(
          {.name = event.name,
           .type = event.kind == session::EventKind::IbsOp ? profile::kIbsOpType : profile::kIbsFetchType,
           .config = event.select,
           .period = event.frequency != 0 ? event.frequency : event.period,
           .frequency = event.frequency != 0,
           .precise_ip = event.precise,
           .exclude_kernel = false,
           .exclude_hypervisor = false});
      continue;
    }
    out.description.events.push_back({.name = event.name,
                                      .config = config,
                                      .config1 = event.latency_threshold,
                                      .period = event.frequency != 0 ? event.frequency : event.period,
                                      .frequency = event.frequency != 0,
                                      .precise_ip = precise_ip_of(event, out.config.skid),
                                      .exclude_user = !PerfEvtSel{event.select}.has(PerfEvtSel::user),
                                      .exclude_kernel = !PerfEvtSel{event.select}.has(PerfEvtSel::kernel)});
  }
  // Hand-overs of lines are questions of time, and of all that happens between two accesses of a line.
  const char* const needs_all = out.config.log_sharing        ? "c2c record"
                                : out.config.samples_by_ibs() ? "instruction-based sampling"
                                : !words.skid.empty()         ? "--skid"
                                                              : "";
  if (auto detail = choose_detail(words.run, model, out.config, needs_all); !detail) return detail;
  // Its samples are there for where their data was, and between units nobody knows.
  for (session::EventSpec& event : out.config.events)
    event.only_in_units = out.config.in_units && samples_memory(words.kind) && event.has_address;
  for (const session::EventSpec& event : out.config.events) {
    if (auto notice = notice_of_every_second(event, model)) out.notices.push_back(*std::move(notice));
  }
  out.description.branch_prediction_known = out.config.branch_stack && out.config.detail != session::Detail::Exact;
  const auto banks = session::plan_banks(session::with_progress_event(out.config).events, model);
  if (!banks) return banks.error();
  out.pmus = banks->size();
  return {};
}

Result<void> can_log_sharing(const session::RecordingConfig& config) {
  if (config.detail != session::Detail::Full) {
    return Error{"c2c record: --detail " + std::string(name_of(config.detail)) +
                     " has no time, and who meets whom at a line depends on it",
                 "leave --detail out"};
  }
  return {};
}

Result<void> choose(const Words& words, RecordOptions& out) {
  if (auto supported = check_run_options(words.run); !supported) return supported;
  if (out.output == "-" && !words.compression.empty())
    return Error{"-o - and -z exclude each other: perf's pipe format is not compressed", "-o - | zstd"};
  const auto level = compression_level(words.compression);
  if (!level) return level.error();
  out.description.compression_level = *level;
  const auto model = choose_cpu_model(words.run.cpu);
  if (!model) return model.error();
  out.config.cpu_model = (*model)->name;
  apply(words.run, out.config);
  out.config.ds_records = static_cast<std::uint32_t>(words.ds_records);
  out.config.data_mappings = out.description.data_sources = words.data;
  out.description.latencies = words.weight;
  out.config.log_sharing = words.kind == RecordKind::CacheLines;
  out.config.schedule_seed = words.schedule_seed;
  out.config.raw_records = out.description.raw_records = words.raw;

  if (words.kind == RecordKind::Profile)
    out.config.contexts = words.stacks ? static_cast<std::uint32_t>(words.bound.contexts) : 0;
  else if (words.stacks)
    out.config.callchain = Callchain::Exact;
  if (!words.callchain.empty()) {
    const auto choice = parse_callchain(words.callchain);
    if (!choice) return choice.error();
    out.config.callchain = choice->mode;
    out.config.stack_bytes = choice->stack_bytes;
    if (choice->stack_bytes < choice->asked_bytes)
      out.notices.push_back(Error{"--call-graph " + words.callchain + ": a sample has room for " +
                                      std::to_string(choice->stack_bytes) + " bytes of the stack",
                                  ""});
    // perf unwinds with tables that it finds through the mapping they are in, which is not executable.
    out.config.data_mappings = out.config.data_mappings || choice->mode == Callchain::Dwarf;
  }
  if (auto branches = choose_branches(words, **model, out); !branches) return branches;
  if (words.kind == RecordKind::Profile) {
    if (auto possible = choose_profile(words, **model, out); !possible) return possible;
  } else if (auto events = choose_events(words, **model, out); !events) {
    return events;
  }
  if (words.heap && words.no_heap) return Error{"--heap and --no-heap exclude each other", "one of them"};
  // It would be most of what a sampled run of a program that allocates much takes.
  const bool heap = samples_memory(words.kind) && !words.no_heap;
  out.names_no_blocks = heap && out.config.in_units && !words.heap;
  out.config.heap_blocks = heap && !out.names_no_blocks;
  if (out.config.log_sharing) {
    if (auto possible = can_log_sharing(out.config); !possible) return possible;
  }

  auto times = RecordedTimes::make(words.times.delay, words.times.control);
  if (!times) return times.error();
  out.times = *times;
  if (!words.times.control.empty() && out.config.virtual_time)
    return Error{"--control and --virtual-time exclude each other: commands come in real time",
                 "-D takes virtual time"};
  if (!words.registers.empty()) {
    const auto mask = parse_registers(words.registers);
    if (!mask) return mask.error();
    out.description.interrupt_registers = *mask;
    out.config.registers = *mask != 0;
  }
  out.description.callchain =
      out.config.contexts != 0 ? profile::CallchainMode::FramePointers : mode_in_file(out.config.callchain);
  if (out.config.stack_bytes != 0) out.description.stack_bytes = out.config.stack_bytes;
  out.description.inherit = out.config.inherit;
  const bool shows_host = out.config.cpu_level == arch::CpuLevel::Host;
  out.description.machine = shows_host ? profile::this_machine()
                                       : profile::Machine{.hostname = arch::kFixedName,
                                                          .os_release = arch::kFixedRelease,
                                                          .architecture = "x86_64",
                                                          .cpus = out.config.cpus,
                                                          .memory_kb = arch::kFixedMemory / 1024};
  out.description.file_numbers = shows_host;
  out.description.machine.cpu_description = std::string((*model)->name) + " (zeroskid's software PMU)";
  out.description.machine.cpu_id = cpu_id(**model);
  out.description.machine.pmu_capabilities = {
      {"branches", std::to_string((*model)->has_lbr() ? (*model)->lbr_entries : 0)},
      {"max_precise", (*model)->has_pebs() ? "3" : "0"}};
  out.description.version = ZEROSKID_VERSION;
  const std::vector<profile::Note> of_run = {{"back end", "software PMU"},
                                             {"CPU model", out.config.cpu_model},
                                             {"modelled core", core_in_words(out.config)},
                                             {"seed", std::to_string(out.config.seed)},
                                             {"virtual time", out.config.virtual_time ? "yes" : "no"},
                                             {"program's machine", shows_host ? "this one" : shown_machine(out.config)},
                                             {"PMUs per thread", std::to_string(out.pmus)},
                                             {"PEBS records per PMI", std::to_string(out.config.records_per_pmi())}};
  out.description.notes.insert(out.description.notes.begin(), of_run.begin(), of_run.end());
  if (out.config.schedule_seed != 0)
    out.description.notes.push_back({"schedule seed", std::to_string(out.config.schedule_seed)});
  if (out.trace_filter.any()) out.description.notes.push_back({"trace filter", in_words(out.trace_filter)});
  if (out.config.in_units) {
    out.description.notes.push_back({"units", units_in_words(out.config.units) +
                                                  "; samples of estimates are taken there, and their periods scaled"});
  }
  if (samples_memory(words.kind) && words.often.count == 0) {
    out.description.notes.push_back({"weight of a sample",
                                     "its latency times its period; perf mem report leaves periods "
                                     "out, so its shares are others"});
  }
  for (const session::EventSpec& event : out.config.events) {
    out.description.notes.push_back({"class of " + event.name, class_of(event, out.config)});
  }
  return {};
}

/// Options that say how the software PMU works are not passed over where the kernel counts.
Result<void> refuse_for_the_kernel(const Words& words, const RecordOptions& options) {
  std::string option = first_given({{words.raw, "-R"},
                                    {!words.times.delay.empty(), "-D"},
                                    {!words.times.control.empty(), "--control"},
                                    {!words.skid.empty(), "--skid"},
                                    {words.heap, "--heap"},
                                    {words.no_heap, "--no-heap"},
                                    {words.schedule_seed != 0, "--schedule-seed"},
                                    {!words.bound.max_size.empty(), "--max-size"},
                                    {words.bound.last_branches != 0, "-S"},
                                    {options.trace_filter.any(), "--filter, --region or --thread"}});
  if (option.empty()) option = option_of_the_software_pmu(words.run);
  return option.empty() ? Result<void>() : not_the_kernels(option);
}

/// Where the kernel counts: fills in out.perf_events, and leaves the rest alone.
Result<void> choose_perf_events(const Words& words, RecordOptions& out) {
  if (!takes_samples(words.kind)) return {};
  const bool memory = samples_memory(words.kind);
  const bool kernel = asks_for_the_kernel(words.back_end);
  std::vector<std::string> events = words.events;
  if (memory && !kernel) {  // events of the kernel's own have no addresses
    out.why_software = why_software(words.back_end);
    return check_back_end(words.back_end);
  }
  if (memory && events.empty()) {
    auto accesses = processors_memory_events(words.accesses, words.threshold);
    if (!accesses) return Error{name_of(words.kind) + ": " + accesses.error().message, accesses.error().hint};
    events = *std::move(accesses);
  }
  auto choice =
      choose_back_end(words.back_end, events, [](bool pmu) -> std::string { return pmu ? "cycles:P" : "cpu-clock"; });
  if (!choice) return choice.error();
  out.why_software = why_software(words.back_end);
  if (!*choice) return {};
  if (auto fits = refuse_for_the_kernel(words, out); !fits) return fits;
  if (!std::has_single_bit(words.ring_pages))
    return Error{"-m " + std::to_string(words.ring_pages) + ": not a power of two", "-m 128"};
  PerfSampling sampling{.period = words.often.count,
                        .frequency = words.often.frequency,
                        .callchain = !words.callchain.empty() ? words.callchain
                                     : words.stacks           ? "fp"
                                                              : "",
                        .branches = !words.branches.empty() ? words.branches
                                    : words.any_branch      ? "any"
                                                            : "",
                        .registers = words.registers,
                        .data_sources = words.data,
                        .latencies = words.weight,
                        .inherit = !words.run.no_inherit};
  const host::Permissions permissions = host::ask_permissions();
  sampling.physical_addresses = words.kind == RecordKind::CacheLines && host::may_see_the_kernel(permissions);
  if (leave_out_the_kernel((*choice)->events, permissions)) {
    out.notices.push_back(Error{"this user may not look into the kernel: only ring 3 is sampled",
                                "as root: sysctl kernel.perf_event_paranoid=1"});
  }
  auto description = describe_perf_events(**choice, sampling);
  if (!description) return description.error();
  const auto level = compression_level(words.compression);
  if (!level) return level.error();
  description->compression_level = *level;
  out.perf_events = PerfRecording{.choice = **std::move(choice),
                                  .description = *std::move(description),
                                  .permissions = permissions,
                                  .ring_pages = words.ring_pages,
                                  .output = out.output,
                                  .quiet = out.quiet,
                                  .verbose = out.verbose,
                                  .program = out.program};
  return {};
}

void add_sample_options(CommandLine& line, Words& words) {
  const RecordKind kind = words.kind;
  const bool memory = samples_memory(kind);
  line.group("What is sampled");
  if (kind == RecordKind::Memory)
    line.value("-t,--type", words.accesses, "load|store|load,store", "Which accesses [load,store]");
  if (memory) {
    line.number(kind == RecordKind::Memory ? "--ldlat" : "-l,--ldlat", words.threshold, kLeastThreshold, "N",
                "Loads that take more than N core cycles [30]");
  }
  line.values("-e,--event", words.events, "EVENTS",
              memory
                  ? kind == RecordKind::Memory ? "Other events than those of -t" : "Other events than loads and stores"
                  : "Events, separated by commas: instructions:ppp, mem_inst_retired.all_loads:pp, r81d0,\n"
                    "{a,b}; `zeroskid list` shows them [instructions:ppp]");
  line.number("-c,--count", words.often.count, 1, "N", "One sample every N events");
  line.value("-F,--freq", words.often.typed, "N|max",
             "N samples per 1,000,000,000 instructions; of modelled events more in the first 25,000,000 [4000]");
  if (kind == RecordKind::Plain) {
    line.value("-D,--delay", words.times.delay, "MS|-1|MS-MS[,...]",
               "Samples from so many milliseconds on, in spans of them, or (-1) not before --control enables them");
    line.value("--control", words.times.control, "WHERE",
               "Obey `enable`, `disable` and `ping`, a line each, by fifo:PATH[,PATH] or fd:N[,N] while the\n"
               "program runs; `ack` goes into the second");
  }
  line.group("What a sample holds");
  line.flag("-g", words.stacks, "The call chain: exact by unwind tables, elsewhere by following the code");
  line.value("--call-graph", words.callchain, "exact|fp|dwarf[,BYTES]|lbr",
             "The call chain as perf finds it: by frame pointers, from a copy of the stack, from the LBR");
  line.flag("-b,--branch-any", words.any_branch, "The last taken branches");
  line.value("-j,--branch-filter", words.branches, "KIND[,KIND...]",
             "The last branches of some kinds: any, any_call, any_ret, call, cond, ind_call,\nind_jmp; u");
  line.known_words("KIND", "", branch_filter_names());
  line.optional_value("--intr-regs", words.registers, "[=REG[,REG...]]",
                      "General registers, some (ax,bx,ip), or none [all]");
  line.known_words("REG", "", register_names());
  if (kind == RecordKind::Plain) {
    line.value("--skid", words.skid, "pmi|pebs|pdist|N",
               "As samples of real processors would be: by interrupts that are as late, by PEBS, by PEBS with\n"
               "precise distribution, or by interrupts N instructions late; `zeroskid report --skid` shows by how\n"
               "much [exactly there]");
  }
  line.flag("-R,--raw-samples", words.raw, "The PEBS record itself, for `zeroskid script --raw`");
  if (memory) {
    words.data = words.weight = true;
    line.flag("--heap", words.heap,
              "Find out which block of the heap the data was in, also where the run is sampled: each call of the\n"
              "program's allocator takes some microseconds then [of complete runs]");
    line.flag("--no-heap", words.no_heap, "Do not find out");
  } else {
    line.flag("-d,--data", words.data,
              "Where the data of a sample's access was; mappings of data, so that addresses have names");
    line.flag("-W,--weight", words.weight, "How long the access took, core cycles");
  }
}

void add_trace_options(CommandLine& line, Words& words, RecordOptions& options) {
  const bool lines = words.kind == RecordKind::Profile;
  if (lines) {
    line.group("What is counted");
    line.flag("-g", words.stacks,
              "Calling contexts, too: `zeroskid report -g` shows who called whom, and its instructions");
    line.number("--contexts", words.bound.contexts, 1, "N",
                "Of those N at most in each process; what runs in others lacks its last callers [65536]");
    add_profile_filter_options(line, options.trace_filter);
  }
  add_export_options(line, options.exports, words.formats, lines);
}

}  // namespace

std::optional<int> parse_record_options(const Arguments& arguments, RecordOptions& options, RecordKind kind) {
  const bool memory = samples_memory(kind);
  CommandLine line(name_of(kind), about(kind), "[OPTIONS] [--] PROGRAM [ARGUMENTS]");
  Words words;
  words.kind = kind;
  words.run.t_is_tid = kind != RecordKind::Memory;
  words.run.has_targets = takes_samples(kind);
  if (memory) words.run.least_detail = session::Detail::Full;
  if (!takes_samples(kind)) {
    add_trace_options(line, words, options);
  } else {
    add_sample_options(line, words);
  }
  line.group("The recording");
  line.value("-o,--output", options.output, "FILE",
             "Where to; - is stdout, for a pipe [perf.data; an old one is kept as\nperf.data.old]");
  if (takes_samples(kind)) {
    line.number("-m,--mmap-pages", words.ring_pages, 1, "N",
                "With --pmu=hw: pages of memory for records, on each CPU; a power of two [128]");
  }
  line.optional_value("-z,--compression-level", words.compression, "[=LEVEL]",
                      "Compress the records with zstd, from 1, the fastest, to 22. Branches of a trace stay as they "
                      "are:\nperf could not read them [1]");
  if (kind == RecordKind::Plain || kind == RecordKind::Branches) {
    line.value("--max-size", words.bound.max_size, "SIZE",
               "Of a branch trace: so large may the file become; the last branches are kept, in a temporary "
               "file\nbeside it until the end [any size]");
    line.number("-S,--snapshot", words.bound.last_branches, 1, "N", "Likewise: the last N branches");
    add_trace_filter_options(line, options.trace_filter);
  }
  if (takes_samples(kind)) {
    line.number("--ds-records", words.ds_records, 1, "N",
                "PEBS records per interrupt; always 1 with -F, -b and call chains [64]");
  }
  line.flag("-q,--quiet", options.quiet, "Say nothing but errors");
  line.flag("-v,--verbose", options.verbose, "Say more: interrupts, records");
  if (takes_samples(kind))
    add_back_end_options(
        line, words.back_end,
        {.rings_by_thread = true, .t_is_tid = kind != RecordKind::Memory, .kernels_own_events = !memory});
  if (kind == RecordKind::CacheLines) {
    line.number("--schedule-seed", words.schedule_seed, 0, "N",
                "Another order of threads: each begins up to 20,000 cycles later, by chance [0: at once]");
  }
  add_run_options(line, words.run);
  line.exit_statuses(kStatusesOfRuns);
  if (const auto status = line.parse(arguments)) return status;
  options.program = line.program();
  if (takes_samples(kind)) take_cpu_list(words.run, words.back_end);
  const auto frequency = parse_frequency(words.often.typed.empty() ? "1" : words.often.typed);
  if (frequency && !words.often.typed.empty()) words.often.frequency = *frequency;
  auto chosen = frequency ? choose_perf_events(words, options) : frequency.error();
  if (chosen && !options.perf_events) chosen = choose(words, options);
  if (!chosen) return refused(chosen.error());
  if (!takes_samples(kind)) {
    const std::string recording = options.program.empty() ? options.exports.input.path : options.output;
    options.exports.input.path = recording;
    if (const auto set = choose_formats(words.formats, !options.program.empty(), words.stacks, options.exports); !set)
      return refused(set.error());
    if (!options.exports.files.empty() && options.program.empty()) {
      if (options.output == RecordOptions().output) return std::nullopt;
      return refused({"-o " + options.output + ": no recording is made where no program is named",
                      "--to " + words.formats + "=FILE names the file"});
    }
  }
  if (options.program.empty() && !(options.perf_events && options.perf_events->choice.targets.is_watching()))
    return refused({"no program to record", "zeroskid " + name_of(kind) + " [OPTIONS] PROGRAM [ARGUMENTS]"});
  return std::nullopt;
}

}  // namespace zs::cli
