#include "session/recording/recorder.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/splitmix.h"
#include "session/units/unit_sums.h"

namespace zs::session {
namespace {

using engine::ThreadIdentity;

/// How far a thread has come is said at most so often: a system call per microsecond must not become a message each.
/// When the program is about to wait it may be killed there, so that is said sooner.
constexpr std::uint64_t kSayEveryNs = 10'000'000, kSayBeforeWaitingNs = 5'000'000;

std::uint64_t coarse_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Cycles that the n-th thread of a process begins later, for the sake of another order. chosen: a few microseconds, as
/// on real machines
std::uint64_t delay_of(std::uint64_t seed, std::uint64_t thread) {
  constexpr std::uint64_t kMost = 20'000;
  std::uint64_t state = seed * 0x1'0000'0001 + thread;
  return splitmix64(state) % kMost;
}

}  // namespace

Recorder::Recorder(const RecordingConfig& config, const arch::CpuModel& model, std::vector<BankPlan> banks,
                   uarch::ModelledMachine* machine, Channel& channel, RecordingClock& clock, ProgramMemory& memory,
                   std::uint64_t images)
    : parts_(config, model, std::move(banks), machine, channel, clock, memory), images_(images), exec_(images != 0) {
  if (parts_.units && images != 0) parts_.units->branch(images);
}

Recorder::~Recorder() = default;

RecordedThread* Recorder::find(const ThreadIdentity& who) {
  const auto at = threads_.find(who.tid);
  return at == threads_.end() ? nullptr : at->second.get();
}

engine::VirtualCpu Recorder::thread_started(const ThreadIdentity& who) {
  last_ = who;
  if (!greeted_) {
    if (forked_) {
      parts_.out.write(Fork{.origin = parts_.origin(who), .parent_pid = who.parent_pid, .parent_tid = who.parent_tid});
    }
    parts_.out.write(Hello{.origin = parts_.origin(who), .exec = exec_});
    parts_.out.flush();
    greeted_ = true;
  }
  ++parts_.threads_started;
  if (parts_.config.trace_filter.any() && !parts_.thread_names.contains(who.tid))
    parts_.thread_names[who.tid] = parts_.thread_names[who.parent_tid];
  std::uint64_t latest = 0;
  for (const auto& [tid, other] : threads_)
    latest = std::max(latest, other->core() == nullptr ? 0 : other->core()->played_until());
  auto& thread = threads_[who.tid];
  thread = std::make_unique<RecordedThread>(parts_, who);
  if (parts_.config.schedule_seed != 0 && parts_.threads_started > 1 && thread->core() != nullptr)
    thread->core()->wait_until(latest + delay_of(parts_.config.schedule_seed, parts_.threads_started));
  return thread->virtual_cpu();
}

void Recorder::thread_exited(const ThreadIdentity& who) {
  RecordedThread* const thread = find(who);
  if (thread == nullptr) return;
  thread->drain();
  thread->close();
  send_counts(*thread, true);
  if (parts_.sharing && threads_.size() == 1) {
    if (thread->core() != nullptr) thread->core()->settle();
    write_sharing(who);
  }
  parts_.out.write(Exit{.origin = parts_.origin(who), .parent_pid = who.parent_pid, .parent_tid = who.parent_tid});
  parts_.out.flush();
  if (parts_.config.virtual_time) instructions_before_ += thread->progress();
  if (parts_.units) ended_units_.add(thread->unit_sums());
  threads_.erase(who.tid);
  parts_.thread_names.erase(who.tid);
  parts_.switched_on.erase(who.tid);
}

std::uint64_t Recorder::instructions() {
  std::uint64_t sum = instructions_before_;
  for (auto& [tid, thread] : threads_) sum += thread->progress();
  return sum;
}

void Recorder::in_call(const ThreadIdentity& who, bool in) {
  if (RecordedThread* const thread = find(who)) thread->in_call(in);
}

void Recorder::send_counts(RecordedThread& thread, bool final) {
  const Origin now = parts_.origin(thread.who());
  const DriverStatistics s = thread.statistics();
  parts_.out.write(Statistics{.origin = now,
                              .pmis = s.pmis,
                              .records = s.records,
                              .lost = s.lost,
                              .filtered = thread.trace() != nullptr ? thread.trace()->filtered() : 0});
  for (Region& region : thread.regions()) {
    region.origin = now;
    region.final = final;
    parts_.out.write(std::move(region));
  }
  if (parts_.units) parts_.out.write(Units{.origin = now, .final = final, .sums = thread.unit_sums().packed()});
  parts_.out.write(Counts{.origin = now, .final = final, .values = thread.counts()});
}

void Recorder::reached(const ThreadIdentity& who, std::span<const engine::ProbeVisit> visits,
                       const arch::RegisterFile* registers) {
  if (RecordedThread* const thread = find(who))
    thread->reached(visits, registers, [this] { find_heap_blocks_of_records(); });
}

void Recorder::ran(const ThreadIdentity& who, std::span<const arch::PathCount> counts) {
  write(Ran{.origin = parts_.origin(who)}, counts);
}

void Recorder::ran_in_context(const ThreadIdentity& who, std::span<const arch::PathCount> counts,
                              std::span<const std::uint64_t> callers) {
  write(Ran{.origin = parts_.origin(who), .in_context = true, .callers = {callers.begin(), callers.end()}}, counts);
}

void Recorder::write(Ran ran, std::span<const arch::PathCount> counts) {
  while (!counts.empty()) {
    const auto now = counts.first(std::min<std::size_t>(counts.size(), kMostRan));
    ran.counts.assign(now.begin(), now.end());
    if (const TracedCode& code = parts_.traced_code; !parts_.config.trace_filter.ranges.empty())
      std::erase_if(ran.counts, [&](const auto& count) { return !code.has(count.from) && !code.has(count.to); });
    if (!ran.counts.empty()) parts_.out.write(ran);
    counts = counts.subspan(now.size());
  }
}

void Recorder::write_sharing(const ThreadIdentity& last) {
  if (parts_.heap) parts_.sharing->find_blocks(*parts_.heap);
  parts_.sharing->write(parts_.out, parts_.origin(last));
}

void Recorder::find_heap_blocks_of_records() {
  if (parts_.sharing) parts_.sharing->find_blocks(*parts_.heap);
  for (auto& [tid, thread] : threads_) thread->find_heap_blocks_of_records();
}

std::vector<std::string> Recorder::words_for_next_image() { return {"--images", std::to_string(images_ + 1)}; }

std::vector<engine::CodeProbe> Recorder::new_probes() {
  std::vector<engine::CodeProbe> probes = parts_.probes.take_new();
  if (!parts_.heap) return probes;
  const std::vector<engine::CodeProbe> more = parts_.heap->take_new_probes();
  probes.insert(probes.end(), more.begin(), more.end());
  return probes;
}

void Recorder::pmi(const ThreadIdentity& who, const arch::RegisterFile& registers) {
  RecordedThread* const thread = find(who);
  if (thread == nullptr) return;
  thread->take_pmi(registers);
  if (parts_.units && parts_.units->over()) end_phase(*thread, registers.ip);
  send_what_is_known(*thread, kSayEveryNs);
}

bool Recorder::pmi_ahead(const ThreadIdentity& who, const arch::RegisterFile& registers) {
  RecordedThread* const thread = find(who);
  if (thread == nullptr) return false;
  const bool ended = thread->take_pmi(registers, true);
  send_what_is_known(*thread, kSayEveryNs);
  return ended;
}

void Recorder::signals_counted(const ThreadIdentity& who) {
  if (RecordedThread* const thread = find(who)) thread->signals_counted();
}

void Recorder::end_phase(const RecordedThread& thread, std::uint64_t ip) {
  if (parts_.units->phase() == engine::Phase::Unit) {
    CompletePart::Waits waits;
    for (const auto& [tid, each] : threads_) waits += each->take_waits();
    parts_.units->ended(waits, threads_.size() == 1);
    if (parts_.units->goes_on_complete()) return parts_.units->advance();
    for (const auto& [tid, each] : threads_) each->end_unit();
    if (parts_.units->asks_how_sure()) parts_.units->set_sure(sure_enough());
  }
  // In a placement the core knows the code elsewhere.
  const bool can_look = thread.core() != nullptr && parts_.config.placement == 0;
  if (can_look && parts_.units->phase() == engine::Phase::FastForward)
    parts_.units->looked_at_code(thread.core()->age_of_code(ip));
  parts_.units->advance();
  for (const auto& [tid, each] : threads_) each->begin_unit();
}

// Of the first estimate, as far as this process knows. What an exact event's samples say of their data is none.
bool Recorder::sure_enough() {
  if (parts_.estimated.empty()) return false;
  UnitSums sums = ended_units_;
  for (auto& [tid, thread] : threads_) sums.add(thread->unit_sums());
  const UnitSums::Estimate first = sums.estimate(0);
  constexpr double kThousandths = 1000;
  return first.known &&
         kThousandths * first.half_width <= static_cast<double>(parts_.config.units.wanted_error) * first.value;
}

// The FORK of a process must not be later than the child's first sample, so the child itself tells of it, not its
// parent, which learns of it afterwards. A vfork child shares our memory, and tells here. Where the order of several
// processes is to repeat, the parent tells as well: only its own stream says at which of its moments that was.
void Recorder::forked(const ThreadIdentity& child, bool thread) {
  if (!thread) ++images_;
  const RecordingConfig& config = parts_.config;
  const bool ordered = config.virtual_time && (config.samples() || config.traces_branches());
  if (!thread && getpid() == parts_.host_pid && !ordered) return;
  parts_.out.write(Fork{.origin = parts_.origin(child),
                        .parent_pid = child.parent_pid,
                        .parent_tid = child.parent_tid,
                        .by_parent = !thread && ordered});
}

void Recorder::in_forked_child() {
  if (parts_.config.virtual_time) instructions_before_ = instructions();
  threads_.clear();
  ended_units_ = {};
  ++images_;
  if (parts_.units) parts_.units->branch(images_);
  if (parts_.sharing) parts_.sharing->forget();
  parts_.threads_of_process = 0;
  parts_.host_pid = getpid();
  parts_.out.restart(parts_.host_pid);
  greeted_ = exec_ = false;
  forked_ = true;
}

void Recorder::renamed(const ThreadIdentity& who, const std::string& comm, bool exec) {
  if (parts_.config.trace_filter.any()) {
    parts_.thread_names[who.tid] = comm;
    if (RecordedThread* const thread = find(who)) thread->trace()->renamed(comm);
  }
  parts_.out.write(Comm{.origin = parts_.origin(who), .exec = exec, .comm = comm});
}

void Recorder::mapped(const ThreadIdentity& who, const engine::Mapping& mapping) {
  parts_.probes.mapped(mapping);
  if (!parts_.config.trace_filter.ranges.empty()) {
    for (auto& [tid, thread] : threads_) thread->trace()->drain();
    parts_.traced_code.mapped(mapping);
  }
  if (parts_.heap) parts_.heap->mapped(mapping);
  if (parts_.stacks) parts_.stacks->mapped(mapping);
  parts_.build_ids.mapped(mapping);
  if ((mapping.protection & PROT_EXEC) == 0 && !parts_.config.data_mappings) return;
  const std::optional<std::string> build_id =
      parts_.config.samples() ? parts_.build_ids.of(mapping) : std::optional<std::string>();
  parts_.out.write(Mmap{.origin = parts_.origin(who),
                        .start = mapping.start,
                        .length = mapping.length,
                        .file_offset = mapping.file_offset,
                        .protection = mapping.protection,
                        .flags = mapping.flags,
                        .device_major = mapping.device_major,
                        .device_minor = mapping.device_minor,
                        .inode = mapping.inode,
                        .identified = build_id.has_value(),
                        .build_id = build_id.value_or(""),
                        .path = mapping.path});
}

// Buffers of records are left to their interrupts: what a sample says, and the order of samples, must not depend on
// when the engine found a moment.
void Recorder::flush(const ThreadIdentity& who) {
  if (RecordedThread* const thread = find(who)) send_what_is_known(*thread, kSayBeforeWaitingNs);
}

void Recorder::send_what_is_known(RecordedThread& thread, std::uint64_t every_ns) {
  if (!thread.is_due(coarse_ns(), every_ns)) return;
  send_counts(thread, false);
  parts_.out.flush();
}

void Recorder::notice(const std::string& text) {
  parts_.out.write(Notice{.origin = parts_.origin(last_), .text = text});
  parts_.out.flush();
}

void Recorder::refused(const std::string& text) {
  parts_.out.write(Notice{.origin = parts_.origin(last_), .text = text, .refusal = true});
  parts_.out.flush();
}

}  // namespace zs::session
