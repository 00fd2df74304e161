#include "session/recorder.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "arch/records/data_source.h"
#include "arch/records/perf_mem.h"
#include "base/check.h"
#include "base/splitmix.h"
#include "session/callchain.h"
#include "session/core_choice.h"
#include "session/event_counters.h"
#include "session/unit_sums.h"
#include "session/window_cutter.h"

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

bool wants_usage(const RecordingConfig& config) {
  return std::any_of(config.events.begin(), config.events.end(),
                     [](const EventSpec& e) { return e.kind != EventKind::Hardware; });
}

std::uint64_t measured(EventKind kind, const ThreadUsage& usage) {
  switch (kind) {
    case EventKind::TaskClock: return usage.task_clock_ns;
    case EventKind::ContextSwitches: return usage.context_switches;
    case EventKind::PageFaults: return usage.minor_faults + usage.major_faults;
    case EventKind::MinorFaults: return usage.minor_faults;
    case EventKind::MajorFaults: return usage.major_faults;
    case EventKind::Hardware: break;  // counted by a PMU
  }
  return 0;
}

}  // namespace

/// One thread's PMUs and what recording them needs.
class Recorder::Thread final : public PmuClient {
 public:
  Thread(Recorder& recorder, const ThreadIdentity& who)
      : who_(who), host_tid_(gettid()), recorder_(recorder), adaptive_(recorder.config_.events.size()) {
    const RecordingConfig& config = recorder.config_;
    for (const BankPlan& plan : recorder.banks_) {
      drivers_.push_back(std::make_unique<PmuDriver>(recorder.model_, config, plan, recorder.clock_, pmi_requested_));
      pmus_.push_back(&drivers_.back()->pmu());
    }
    for (std::size_t i = 0; i < config.events.size(); ++i) {
      if (config.events[i].frequency != 0) adaptive_[i].emplace(config.events[i].frequency);
    }
    if (recorder.machine_ != nullptr) core_ = recorder.machine_->attach_thread();
    if (recorder.sharing_) recorder.sharing_->attached(who.tid);
    if (wants_usage(config)) started_with_ = thread_usage(host_tid_);
    counters_.emplace(drivers_, config.events.size());
    if (recorder.units_) {
      pmus_.push_back(&recorder.units_->pmu());
      units_.emplace(recorder.estimated_.size());
      begin_unit();
    }
    if (config.marked_regions || !config.regions.empty()) regions_.emplace(config, recorder.marks_, *counters_);
    if (recorder.heap_) heap_.emplace(*recorder.heap_);
    if (config.has_windows()) windows_.emplace(config, *counters_, recorder.threads_started_);
  }

  const ThreadIdentity& who() const { return who_; }

  /// Whether it is time to say again how far it has come: once in `every_ns`, and a few times more after a silence, so
  /// that a program that starts and soon waits is heard of where it waits.
  bool is_due(std::uint64_t now_ns, std::uint64_t every_ns) {
    constexpr std::uint64_t kSaved = 7;
    next_due_ns_ = std::max(next_due_ns_, now_ns - std::min(now_ns, kSaved * every_ns));
    if (next_due_ns_ > now_ns) return false;
    next_due_ns_ += every_ns;
    return true;
  }

  engine::VirtualCpu virtual_cpu() const {
    return {.pmus = pmus_,
            .pmi_requested = &pmi_requested_,
            .core = core_.get(),
            .late_interrupts = windows_.has_value() && !recorder_.config_.samples(),
            .pmi_reads_memory = recorder_.config_.callchain != Callchain::None,
            .marks = regions_.has_value() || heap_.has_value(),
            .phase = recorder_.units_ ? &recorder_.units_->phase() : nullptr,
            .phase_over = recorder_.units_ ? &recorder_.units_->over() : nullptr};
  }

  /// A phase of the run has begun: in a unit, what is counted from here on is its own.
  void begin_unit() {
    if (recorder_.units_->phase() != engine::Phase::Unit) return;
    follow_weight();
    unit_start_ = estimated_counts();
    unit_start_instructions_ = progress();
  }
  /// And before it ends.
  void end_unit() {
    if (recorder_.units_->phase() != engine::Phase::Unit) return;
    drain();
    add_unit_to(*units_);
  }
  /// With the unit that is under way.
  UnitSums unit_sums() {
    UnitSums sums = *units_;
    if (recorder_.units_->phase() == engine::Phase::Unit) add_unit_to(sums);
    sums.set_instructions(progress());
    return sums;
  }

  void take_pmi(const arch::RegisterFile& registers) {
    interrupted_ = &registers;
    for (auto& driver : drivers_) {
      driver_ = driver.get();
      driver_->take_pmi(*this);
      forget_drained();
    }
    pmi_requested_ = false;
    interrupted_ = nullptr;
    if (windows_) write(windows_->served());
  }

  void reached(std::span<const engine::MarkVisit> visits, const arch::RegisterFile* registers) {
    if (heap_ && registers != nullptr) {
      heap_->reached(visits.front().pc, *registers, [this] { recorder_.find_heap_blocks_of_records(); });
    }
    if (!regions_) return;
    regions_->reached(visits, registers, spans_);
    if (!spans_.empty()) write_spans();
  }

  /// The thread ends: its regions and its last window are over.
  void close() {
    if (regions_) regions_->end(spans_);
    write_spans();
    if (windows_) write(windows_->rest());
  }

  /// The heap is about to change: what records in the buffers speak of is looked for now.
  void find_heap_blocks_of_records() {
    for (auto& driver : drivers_) {
      driver->look_ahead([&](const PebsFacts& facts) {
        found_ahead_[driver.get()].emplace(facts.record.data(), recorder_.heap_->find(facts.data_address));
      });
    }
  }

  std::uint64_t played_until() const { return core_ == nullptr ? 0 : core_->played_until(); }
  /// Nothing that the thread does is before that cycle.
  void wait_until(std::uint64_t cycle) {
    if (core_ != nullptr) core_->wait_until(cycle);
  }

  /// Everything that was told of the thread is played.
  void settle() {
    if (core_ != nullptr) core_->settle();
  }

  std::vector<Region> regions() const { return regions_ ? regions_->counts() : std::vector<Region>(); }

  void drain() {
    for (auto& driver : drivers_) {
      driver_ = driver.get();
      driver_->drain(*this);
      forget_drained();
    }
  }

  std::vector<std::uint64_t> counts() {
    const auto& events = recorder_.config_.events;
    std::vector<std::uint64_t> values(events.size(), 0);
    counters_->totals(values);
    if (wants_usage(recorder_.config_)) {
      const ThreadUsage now = thread_usage(host_tid_);
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].kind == EventKind::Hardware) continue;
        const std::uint64_t before = measured(events[i].kind, started_with_);
        values[i] = std::max(measured(events[i].kind, now), before) - before;
      }
    }
    if (units_) {
      const UnitSums sums = unit_sums();
      for (std::size_t i = 0; i < recorder_.estimated_.size(); ++i)
        values[recorder_.estimated_[i]] = static_cast<std::uint64_t>(std::llround(sums.total(i)));
    }
    values.resize(reported_events(recorder_.config_));
    return values;
  }

  /// Instructions retired, by the progress event. A system call counts while it lasts.
  std::uint64_t progress() {
    CHECK(reported_events(recorder_.config_) < recorder_.config_.events.size());
    return counters_->total(recorder_.config_.events.size() - 1) + (in_call_ ? 1 : 0);
  }
  void in_call(bool in) { in_call_ = in; }

  DriverStatistics statistics() const {
    DriverStatistics sum;
    for (const auto& driver : drivers_) {
      sum.pmis += driver->statistics().pmis;
      sum.records += driver->statistics().records;
      sum.lost += driver->statistics().lost;
    }
    return sum;
  }

  void record(const PlannedCounter& counter, std::uint64_t period, const PebsFacts& facts) override {
    const EventSpec& event = recorder_.config_.events[counter.event];
    Sample sample = sample_of(counter, period, facts.registers);
    sample.time_ns = facts.tsc ? recorder_.clock_.ns_at(*facts.tsc) : recorder_.clock_.now_ns();
    // precise 1 is the record's own instruction pointer, past the instruction; more asks for the instruction itself,
    // which formats 0 and 1 do not have.
    sample.exact_ip = event.precise >= 2 && facts.eventing_ip.has_value();
    if (sample.exact_ip) sample.ip = *facts.eventing_ip;
    sample.address = facts.data_address;
    sample.data_source = arch::perf_mem::kNothingKnown.bits;
    if (core_ != nullptr) tell_access(sample, event, facts);
    if (recorder_.heap_) sample.heap_block = heap_block_of(facts);
    if (recorder_.config_.raw_records) sample.raw = driver_->excerpt(facts);
    finish(sample, counter, facts.registers);
  }

  void overflow(const PlannedCounter& counter, std::uint64_t period) override {
    CHECK(interrupted_ != nullptr);
    if (recorder_.config_.events[counter.event].closes_window || counter.event == recorder_.config_.skid_event) {
      windows_->overflowed(counter.event);
      return;
    }
    Sample sample = sample_of(counter, period, *interrupted_);
    sample.data_source = arch::perf_mem::kNothingKnown.bits;
    sample.time_ns = recorder_.clock_.now_ns();
    finish(sample, counter, *interrupted_);
  }

  void lost(const PlannedCounter& counter) override {
    recorder_.out_.write(Lost{.origin = recorder_.origin(who_), .event = counter.event, .samples = 1});
  }

 private:
  /// Of a record that is being drained.
  std::shared_ptr<const HeapBlock> heap_block_of(const PebsFacts& facts) {
    const auto found = found_ahead_.find(driver_);
    if (found != found_ahead_.end()) {
      const auto ahead = found->second.find(facts.record.data());
      if (ahead != found->second.end()) return ahead->second;
    }
    return recorder_.heap_->find(facts.data_address);
  }

  void forget_drained() {
    if (!found_ahead_.empty() && driver_->looked_ahead() == 0) found_ahead_.erase(driver_);
  }

  void write(Window* window) {
    if (window == nullptr) return;
    window->origin = {.pid = who_.pid, .tid = who_.tid, .time_ns = 0};  // its time is in instructions
    recorder_.out_.write(*window);
  }

  void write_spans() {
    for (RegionSpan& span : spans_) {
      span.origin = recorder_.origin(who_);
      recorder_.out_.write(std::move(span));
    }
    spans_.clear();
  }

  Sample sample_of(const PlannedCounter& counter, std::uint64_t period, const arch::RegisterFile& registers) const {
    Sample sample;
    sample.event = counter.event;
    sample.pid = who_.pid;
    sample.tid = who_.tid;
    if (core_ != nullptr) sample.cpu = core_->core_number();
    sample.period = period * weight_of(counter);
    sample.ip = registers.ip;
    return sample;
  }

  /// What the record's words mean on this processor, for this event. Without a core model they would be zeros, which
  /// mean something too.
  void tell_access(Sample& sample, const EventSpec& event, const PebsFacts& facts) const {
    // Of an event that is counted exactly, between two units: the core was not told of it.
    if (recorder_.units_ && recorder_.units_->phase() == engine::Phase::FastForward) return;
    const arch::CpuModel& model = recorder_.model_;
    const arch::SourceWord word = source_word_of(event, model);
    sample.data_source = arch::perf_data_src(model.data_source, word, facts.data_source);
    const arch::AccessLatency latency = arch::decode_latency(model.data_source, word, facts.latency);
    sample.latency = latency.cycles;
    sample.instruction_latency = static_cast<std::uint16_t>(latency.instruction_cycles);
  }

  void finish(Sample& sample, const PlannedCounter& counter, const arch::RegisterFile& registers) {
    const RecordingConfig& config = recorder_.config_;
    sample.has_registers = config.registers || config.callchain == Callchain::Dwarf;
    if (sample.has_registers) sample.registers = registers;
    if (config.branch_stack || config.callchain == Callchain::LbrCallStack) driver_->read_lbr(sample.branches);
    if (config.callchain == Callchain::FramePointers || config.callchain == Callchain::LbrCallStack) {
      sample.callchain = walk_frame_pointers(sample.ip, registers, recorder_.memory_, config.max_stack);
    }
    if (config.callchain == Callchain::Dwarf) copy_stack(sample, registers.sp);
    if (recorder_.stacks_) sample.callchain = recorder_.stacks_->walk(sample.ip, registers, config.max_stack);
    recorder_.out_.write(sample);
    if (adaptive_[counter.event]) adapt(counter);
  }

  /// What the unit has brought since it began.
  void add_unit_to(UnitSums& sums) {
    const UnitClock& clock = *recorder_.units_;
    std::vector<std::uint64_t> brought = estimated_counts();
    for (std::size_t i = 0; i < brought.size(); ++i) brought[i] -= unit_start_[i];
    const std::uint64_t instructions = progress() - unit_start_instructions_;
    if (instructions == 0) return;
    if (clock.complete())
      sums.add_complete(instructions, brought);
    else
      sums.add_unit(clock.unit() + first_group(), clock.weight(), instructions, brought);
  }

  /// Of several runs, each begins to deal its units out with another group: what the program does at one place is not
  /// in the same group of all.
  std::uint64_t first_group() const {
    std::uint64_t state = recorder_.config_.units.seed;
    return splitmix64(state) % UnitSums::kGroups;
  }

  std::vector<std::uint64_t> estimated_counts() const {
    std::vector<std::uint64_t> counts;
    for (const std::uint32_t event : recorder_.estimated_) counts.push_back(counters_->total(event));
    return counts;
  }

  /// How many events each one stands for that the counter of this one sees.
  std::uint64_t weight_of(const PlannedCounter& counter) const {
    return recorder_.units_ && recorder_.config_.events[counter.event].detail != Detail::Exact ? weight_ : 1;
  }

  /// Of a period in the program's events: in those that the counter sees.
  std::uint64_t seen_period(const PlannedCounter& counter, std::uint64_t period) const {
    return std::max<std::uint64_t>(period / weight_of(counter), 1);
  }

  /// Counters that sample see one event of so many: their periods are so much shorter.
  void follow_weight() {
    const std::uint64_t weight = recorder_.units_->weight();
    if (weight == std::exchange(weight_, weight)) return;
    for (const auto& driver : drivers_) {
      for (std::size_t i = 0; i < driver->plan().size(); ++i) {
        const PlannedCounter& counter = driver->plan()[i];
        const EventSpec& event = recorder_.config_.events[counter.event];
        if (event.detail == Detail::Exact || !event.samples()) continue;
        const std::uint64_t wanted = adaptive_[counter.event] ? adaptive_[counter.event]->period() : event.period;
        if (counter.pebs)
          driver->set_period(i, seen_period(counter, wanted));
        else
          driver->restart(i, seen_period(counter, wanted));
      }
    }
    drain();
  }

  void copy_stack(Sample& sample, std::uint64_t sp) {
    sample.user_stack.resize(recorder_.config_.stack_bytes);
    const std::size_t copied = recorder_.memory_.read(sp, sample.user_stack);
    sample.user_stack.resize(copied / 8 * 8);
  }

  void adapt(const PlannedCounter& counter) {
    const std::uint64_t period = adaptive_[counter.event]->sampled_at(progress());
    for (std::size_t i = 0; i < driver_->plan().size(); ++i) {
      if (driver_->plan()[i] == counter) driver_->set_period(i, seen_period(counter, period));
    }
  }

  const ThreadIdentity who_;
  const pid_t host_tid_;  // who_ may be virtual
  Recorder& recorder_;
  bool pmi_requested_ = false;
  bool in_call_ = false;  // in one that has not retired
  std::vector<std::unique_ptr<PmuDriver>> drivers_;
  std::vector<pmu::Pmu*> pmus_;
  std::unique_ptr<arch::CoreFeed> core_;
  std::optional<EventCounters> counters_;
  std::optional<WindowCutter> windows_;
  std::optional<ThreadRegions> regions_;
  std::optional<ThreadHeap> heap_;
  /// Of records in the buffers, by where they lie.
  std::map<const PmuDriver*, std::map<const std::byte*, std::shared_ptr<const HeapBlock>>> found_ahead_;
  std::vector<RegionSpan> spans_;                        // scratch
  std::vector<std::optional<AdaptivePeriod>> adaptive_;  // by event
  ThreadUsage started_with_;
  std::optional<UnitSums> units_;          // of the units that have ended
  std::vector<std::uint64_t> unit_start_;  // Recorder::estimated_, when the one began that is under way
  std::uint64_t unit_start_instructions_ = 0;
  std::uint64_t weight_ = 1;
  std::uint64_t next_due_ns_ = 0;
  PmuDriver* driver_ = nullptr;                      // being serviced
  const arch::RegisterFile* interrupted_ = nullptr;  // during take_pmi
};

Recorder::Recorder(const RecordingConfig& config, const arch::CpuModel& model, std::vector<BankPlan> banks,
                   uarch::ModelledMachine* machine, Channel& channel, RecordingClock& clock, ProgramMemory& memory,
                   bool exec)
    : config_(config),
      model_(model),
      banks_(std::move(banks)),
      machine_(machine),
      clock_(clock),
      memory_(memory),
      host_pid_(getpid()),
      out_(channel, host_pid_),
      marks_(config, memory),
      estimated_(config.estimated_events()),
      exec_(exec) {
  if (config.heap_blocks) heap_.emplace(memory);
  if (config.callchain == Callchain::Exact) stacks_.emplace(memory);
  if (machine != nullptr && machine->sharing() != nullptr) sharing_.emplace(*machine->sharing());
  if (!config.in_units) return;
  units_.emplace(model, config, clock);
  if (exec) units_->branch();
}

Recorder::~Recorder() = default;

Origin Recorder::origin(const ThreadIdentity& who) {
  return {.pid = who.pid, .tid = who.tid, .time_ns = clock_.now_ns()};
}

Recorder::Thread* Recorder::find(const ThreadIdentity& who) {
  const auto at = threads_.find(who.tid);
  return at == threads_.end() ? nullptr : at->second.get();
}

engine::VirtualCpu Recorder::thread_started(const ThreadIdentity& who) {
  last_ = who;
  if (!greeted_) {
    if (forked_) {
      out_.write(Fork{.origin = origin(who), .parent_pid = who.parent_pid, .parent_tid = who.parent_tid});
    }
    out_.write(Hello{.origin = origin(who), .exec = exec_});
    out_.flush();
    greeted_ = true;
  }
  ++threads_started_;
  std::uint64_t latest = 0;
  for (const auto& [tid, other] : threads_) latest = std::max(latest, other->played_until());
  auto& thread = threads_[who.tid];
  thread = std::make_unique<Thread>(*this, who);
  if (config_.schedule_seed != 0 && threads_started_ > 1)
    thread->wait_until(latest + delay_of(config_.schedule_seed, threads_started_));
  return thread->virtual_cpu();
}

void Recorder::thread_exited(const ThreadIdentity& who) {
  Thread* const thread = find(who);
  if (thread == nullptr) return;
  thread->drain();
  thread->close();
  send_counts(*thread, true);
  if (sharing_ && threads_.size() == 1) {
    thread->settle();
    write_sharing(who);
  }
  out_.write(Exit{.origin = origin(who), .parent_pid = who.parent_pid, .parent_tid = who.parent_tid});
  out_.flush();
  if (config_.virtual_time) instructions_before_ += thread->progress();
  if (units_) ended_units_.add(thread->unit_sums());
  threads_.erase(who.tid);
}

std::uint64_t Recorder::instructions() {
  std::uint64_t sum = instructions_before_;
  for (auto& [tid, thread] : threads_) sum += thread->progress();
  return sum;
}

void Recorder::in_call(const ThreadIdentity& who, bool in) {
  if (Thread* const thread = find(who)) thread->in_call(in);
}

void Recorder::send_counts(Thread& thread, bool final) {
  const Origin now = origin(thread.who());
  const DriverStatistics s = thread.statistics();
  out_.write(Statistics{.origin = now, .pmis = s.pmis, .records = s.records, .lost = s.lost});
  for (Region& region : thread.regions()) {
    region.origin = now;
    region.final = final;
    out_.write(std::move(region));
  }
  if (units_) out_.write(Units{.origin = now, .final = final, .sums = thread.unit_sums().packed()});
  out_.write(Counts{.origin = now, .final = final, .values = thread.counts()});
}

void Recorder::reached(const ThreadIdentity& who, std::span<const engine::MarkVisit> visits,
                       const arch::RegisterFile* registers) {
  if (Thread* const thread = find(who)) thread->reached(visits, registers);
}

void Recorder::write_sharing(const ThreadIdentity& last) {
  if (heap_) sharing_->find_blocks(*heap_);
  sharing_->write(out_, origin(last));
}

void Recorder::find_heap_blocks_of_records() {
  if (sharing_) sharing_->find_blocks(*heap_);
  for (auto& [tid, thread] : threads_) thread->find_heap_blocks_of_records();
}

std::vector<engine::CodeMark> Recorder::new_marks() {
  std::vector<engine::CodeMark> marks = marks_.take_new();
  if (!heap_) return marks;
  const std::vector<engine::CodeMark> more = heap_->take_new_marks();
  marks.insert(marks.end(), more.begin(), more.end());
  return marks;
}

void Recorder::pmi(const ThreadIdentity& who, const arch::RegisterFile& registers) {
  Thread* const thread = find(who);
  if (thread == nullptr) return;
  thread->take_pmi(registers);
  if (units_ && units_->over()) end_phase();
  send_what_is_known(*thread, kSayEveryNs);
}

void Recorder::end_phase() {
  for (auto& [tid, thread] : threads_) thread->end_unit();
  if (units_->asks_how_sure()) units_->set_sure(sure_enough());
  units_->advance();
  for (auto& [tid, thread] : threads_) thread->begin_unit();
}

// Of the first estimate, as far as this process knows.
bool Recorder::sure_enough() {
  UnitSums sums = ended_units_;
  for (auto& [tid, thread] : threads_) sums.add(thread->unit_sums());
  const UnitSums::Estimate first = sums.estimate(0);
  constexpr double kThousandths = 1000;
  return first.known &&
         kThousandths * first.half_width <= static_cast<double>(config_.units.wanted_error) * first.value;
}

// The FORK of a process must not be later than the child's first sample, so the child itself tells of it, not its
// parent, which learns of it afterwards. A vfork child shares our memory, and tells here. Where the order of several
// processes is to repeat, the parent tells as well: only its own stream says at which of its moments that was.
void Recorder::forked(const ThreadIdentity& child, bool thread) {
  const bool ordered = config_.virtual_time && config_.samples();
  if (!thread && getpid() == host_pid_ && !ordered) return;
  out_.write(Fork{.origin = origin(child),
                  .parent_pid = child.parent_pid,
                  .parent_tid = child.parent_tid,
                  .by_parent = !thread && ordered});
}

void Recorder::in_forked_child() {
  if (config_.virtual_time) instructions_before_ = instructions();
  threads_.clear();
  ended_units_ = {};
  if (units_) units_->branch();
  if (sharing_) sharing_->forget();
  host_pid_ = getpid();
  out_.restart(host_pid_);
  greeted_ = exec_ = false;
  forked_ = true;
}

void Recorder::renamed(const ThreadIdentity& who, const std::string& comm, bool exec) {
  out_.write(Comm{.origin = origin(who), .exec = exec, .comm = comm});
}

void Recorder::mapped(const ThreadIdentity& who, const engine::Mapping& mapping) {
  marks_.mapped(mapping);
  if (heap_) heap_->mapped(mapping);
  if (stacks_) stacks_->mapped(mapping);
  if ((mapping.protection & PROT_EXEC) == 0 && !config_.data_mappings) return;
  out_.write(Mmap{.origin = origin(who),
                  .start = mapping.start,
                  .length = mapping.length,
                  .file_offset = mapping.file_offset,
                  .protection = mapping.protection,
                  .flags = mapping.flags,
                  .device_major = mapping.device_major,
                  .device_minor = mapping.device_minor,
                  .inode = mapping.inode,
                  .path = mapping.path});
}

// Buffers of records are left to their interrupts: what a sample says, and the order of samples, must not depend on
// when the engine found a moment.
void Recorder::flush(const ThreadIdentity& who) {
  if (Thread* const thread = find(who)) send_what_is_known(*thread, kSayBeforeWaitingNs);
}

void Recorder::send_what_is_known(Thread& thread, std::uint64_t every_ns) {
  if (!thread.is_due(coarse_ns(), every_ns)) return;
  send_counts(thread, false);
  out_.flush();
}

void Recorder::notice(const std::string& text) {
  out_.write(Notice{.origin = origin(last_), .text = text});
  out_.flush();
}

}  // namespace zs::session
