#include "cli/linux/outside_recording.h"

#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "arch/cpu_model.h"
#include "base/check.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/command/say.h"
#include "machine/clock.h"
#include "machine/pc.h"
#include "machine/vcpu/vcpu.h"
#include "profile/symbols/kernel_symbols.h"
#include "session/driver/pmu_plan.h"
#include "session/recording/mapped_build_ids.h"

namespace zs::cli {
namespace {

constexpr const char *kSymbols = "/proc/kallsyms", *kModules = "/proc/modules", *kNotes = "/sys/kernel/notes";
constexpr std::uint64_t kKernelHalf = std::uint64_t{1} << 63;
/// Where the part of the address space that begins with the kernel ends.
/// source: Linux, Documentation/arch/x86/x86_64/mm.rst, "kernel text mapping".
constexpr std::uint64_t kEndOfKernel = 0xFFFF'FFFF'C000'0000;

std::string text_of(const GuestFacts& facts, const std::string& path) {
  const auto at = facts.find(path);
  return at == facts.end() ? "" : at->second;
}

}  // namespace

std::uint64_t OutsideRecording::Time::tsc() { return pc_.now(); }
std::uint64_t OutsideRecording::Time::ns() {
  constexpr std::uint64_t kTicks = 12, kNs = 5;
  static_assert(machine::kTscHz / kTicks * kNs == 1'000'000'000);
  return tsc() / kTicks * kNs + tsc() % kTicks * kNs / kTicks;
}

std::size_t OutsideRecording::Memory::read(std::uint64_t address, std::span<std::byte> into) {
  return pc_.cpu().peek(address, into) ? into.size() : 0;
}

Result<std::unique_ptr<OutsideRecording>> OutsideRecording::create(const RecordOptions& options, machine::Pc& pc) {
  auto writer = profile::PerfDataWriter::create(options.output, options.description);
  if (!writer) return writer.error();
  return std::unique_ptr<OutsideRecording>(new OutsideRecording(options, pc, *std::move(writer)));
}

OutsideRecording::OutsideRecording(const RecordOptions& options, machine::Pc& pc, profile::PerfDataWriter writer)
    : options_(options), pc_(pc), time_(pc), memory_(pc), sink_(std::move(writer), false) {
  for (const session::EventSpec& event : options.config.events) {
    adaptive_.emplace_back();
    if (event.frequency != 0) adaptive_.back().emplace(event.frequency, event.first_period());
  }
}

void OutsideRecording::begin(const GuestFacts& facts) {
  began_ns_ = time_.ns();
  began_after_ = pc_.retired();
  tell_kernel(facts);
  const std::string symbols = text_of(facts, kSymbols);
  // source: Linux, arch/x86/include/asm/current.h: of 6.2 to 6.14 it is the first member of pcpu_hot.
  std::uint64_t current = profile::address_in_kallsyms(symbols, "current_task");
  if (current == 0) current = profile::address_in_kallsyms(symbols, "pcpu_hot");
  auto tasks = current != 0 ? GuestTasks::look_at(pc_, current)
                            : Error{"this kernel does not say where its current thread is", "CONFIG_KALLSYMS_ALL does"};
  if (tasks) {
    tasks_ = *std::move(tasks);
  } else {
    say(Error{"linux --record: " + tasks.error().message + ": samples are of no thread, and programs have no names",
              tasks.error().hint});
  }
  const arch::CpuModel& model = *arch::find_cpu_model(options_.config.cpu_model);
  const auto banks = session::plan_banks(options_.config.events, model);
  CHECK(banks);  // checked with the options
  std::vector<machine::OutsidePmu> pmus;
  for (const session::BankPlan& bank : *banks) {
    auto& driver =
        drivers_.emplace_back(std::make_unique<session::PmuDriver>(model, options_.config, bank, time_, pmi_));
    pmus.push_back({.pmu = &driver->pmu()});
  }
  pmus.back().acted = [this] {
    if (!std::exchange(pmi_, false)) return;
    for (const auto& driver : drivers_) {
      serviced_ = driver.get();
      driver->take_pmi(*this);
    }
  };
  pc_.look_from_outside(std::move(pmus));
}

void OutsideRecording::end() { pc_.look_from_outside({}); }

void OutsideRecording::record(const session::PlannedCounter& counter, std::uint64_t period, std::uint64_t events,
                              const session::PebsFacts& facts) {
  const session::EventSpec& event = options_.config.events[counter.event];
  session::Sample sample = sample_of(counter, event.frequency != 0 ? events : period, facts.registers);
  sample.exact_ip = event.precise >= 2 && facts.eventing_ip.has_value();
  if (sample.exact_ip) sample.ip = *facts.eventing_ip;
  sample.address = facts.data_address;
  finish(sample, counter);
}

void OutsideRecording::overflow(const session::PlannedCounter& counter, std::uint64_t events) {
  session::Sample sample = sample_of(counter, events, pc_.cpu().register_file());
  finish(sample, counter);
}

void OutsideRecording::lost(const session::PlannedCounter& counter) {
  sink_.receive(session::Lost{
      .origin = {.pid = task_.pid, .tid = task_.tid, .time_ns = time_.ns()}, .event = counter.event, .samples = 1});
}

session::Sample OutsideRecording::sample_of(const session::PlannedCounter& counter, std::uint64_t period,
                                            const arch::RegisterFile& registers) {
  tell_thread();
  session::Sample sample{.event = counter.event, .pid = task_.pid, .tid = task_.tid, .time_ns = time_.ns()};
  sample.ip = registers.ip;
  sample.period = period;
  sample.has_registers = options_.config.registers;
  sample.registers = registers;
  return sample;
}

void OutsideRecording::finish(session::Sample& sample, const session::PlannedCounter& counter) {
  tell_code(sample.ip);
  if (options_.config.branch_stack) serviced_->read_lbr(sample.branches);
  for (const session::SampledBranch& branch : sample.branches) {
    tell_code(branch.from);
    tell_code(branch.to);
  }
  sink_.receive(std::move(sample));
  auto& adaptive = adaptive_[counter.event];
  if (!adaptive) return;
  const std::uint64_t next = adaptive->sampled_at(pc_.retired() - began_after_);
  const session::BankPlan& plan = serviced_->plan();
  serviced_->set_period(static_cast<std::size_t>(std::ranges::find(plan, counter) - plan.begin()), next);
}

/// Its name, and where it has replaced its program, that its old code is gone.
void OutsideRecording::tell_thread() {
  const auto now = tasks_ ? tasks_->current() : std::nullopt;
  task_ = now.value_or(GuestTasks::Task{});
  if (!now) return;
  Process& process = processes_[task_.pid];
  bool exec = false;
  if (task_.space != 0 && task_.space != process.space) {
    exec = std::exchange(process.space, task_.space) != 0;
    process.areas.clear();
  }
  std::string& name = names_[task_.tid];
  if (name == task_.name && !exec) return;
  name = task_.name;
  sink_.receive(session::Comm{
      .origin = {.pid = task_.pid, .tid = task_.tid, .time_ns = time_.ns()}, .exec = exec, .comm = task_.name});
}

/// Of a program: what is mapped there, if that has not been said.
void OutsideRecording::tell_code(std::uint64_t address) {
  if (!tasks_ || task_.space == 0 || address >= kKernelHalf) return;
  const auto area = tasks_->area_at(task_.space, address);
  if (!area) return;
  const auto [known, added] = processes_[task_.pid].areas.try_emplace(area->start, *area);
  if (!added && std::exchange(known->second, *area) == *area) return;
  // The guest may have changed the file, so what lies at its path here says nothing. Where the head of the file is not
  // in memory (a C library looks there), it is taken for what it was.
  const engine::Mapping head{.start = area->start - area->page_offset,
                             .length = area->end - area->start + area->page_offset,
                             .inode = area->inode};
  session::MappedBuildIds ids(memory_);
  ids.mapped(head);
  const auto id = ids.of(head);
  std::byte first{};
  sink_.receive(session::Mmap{.origin = {.pid = task_.pid, .tid = task_.tid, .time_ns = time_.ns()},
                              .start = area->start,
                              .length = area->end - area->start,
                              .file_offset = area->page_offset,
                              .protection = GuestTasks::protection_of(*area),
                              .flags = GuestTasks::flags_of(*area),
                              .inode = area->inode,
                              .identified = id.has_value() && memory_.read(head.start, {&first, 1}) == 1,
                              .build_id = id.value_or(""),
                              .path = tasks_->name_of(*area, task_.space)});
}

/// The kernel and its modules, of which nobody knows when one was loaded that was not there in the beginning.
void OutsideRecording::tell_kernel(const GuestFacts& facts) {
  const auto tell = [this](std::uint64_t start, std::uint64_t length, const std::string& path, const std::string& id) {
    if (start == 0 || !kernels_.emplace(start, path).second) return;
    sink_.receive(session::Mmap{.origin = {.pid = -1, .tid = 0, .time_ns = began_ns_},
                                .start = start,
                                .length = length,
                                .file_offset = path.ends_with(']') ? 0 : start,
                                .protection = PROT_READ | PROT_EXEC,
                                .flags = MAP_PRIVATE,
                                .identified = true,
                                .build_id = id,
                                .path = path});
  };
  const std::uint64_t kernel = profile::address_in_kallsyms(text_of(facts, kSymbols), "_text");
  const auto id = profile::build_id_of_notes(text_of(facts, kNotes));
  tell(kernel, kEndOfKernel - kernel, "[kernel.kallsyms]_text",
       id ? std::string(reinterpret_cast<const char*>(id->bytes.data()), id->size) : "");
  // "hot 16384 0 - Live 0xffffffffc0000000 (OE)"
  std::istringstream lines(text_of(facts, kModules));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, users, by, state, start;
    std::uint64_t bytes = 0;
    words >> name >> bytes >> users >> by >> state >> start;
    if (!start.starts_with("0x")) continue;
    tell(whole_number<std::uint64_t>(std::string_view(start).substr(2), 16).value_or(0), bytes, "[" + name + "]", "");
  }
}

/// Where `report` and perf look for them.
void OutsideRecording::keep_names(const GuestFacts& facts) const {
  const auto id = profile::build_id_of_notes(text_of(facts, kNotes));
  const std::string path = id ? profile::kept_kallsyms(*id) : "";
  if (path.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::ofstream(path, std::ios::binary) << text_of(facts, kSymbols);
}

bool OutsideRecording::close(const GuestFacts& facts) {
  end();
  if (!drivers_.empty() && profile::address_in_kallsyms(text_of(facts, kSymbols), "_etext") != 0) {
    tell_kernel(facts);
    keep_names(facts);
  }
  const bool whole = sink_.close();
  if (!options_.quiet) {
    say("linux --record: " + with_thousands(sink_.samples_in_file()) + " samples -> " + sink_.path() + " (" +
        byte_size(sink_.bytes()) + ")");
  }
  return whole;
}

}  // namespace zs::cli
