#include "session/recording/recorded_thread.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "arch/records/data_source.h"
#include "arch/records/perf_mem.h"
#include "base/check.h"
#include "base/splitmix.h"
#include "session/driver/core_choice.h"
#include "session/recording/callchain.h"

namespace zs::session {
namespace {

using engine::ThreadIdentity;

bool wants_usage(const RecordingConfig& config) {
  return std::any_of(config.events.begin(), config.events.end(),
                     [](const EventSpec& e) { return is_counted_by_kernel(e.kind); });
}

std::uint64_t measured(EventKind kind, const ThreadUsage& usage) {
  switch (kind) {
    case EventKind::TaskClock: return usage.task_clock_ns;
    case EventKind::ContextSwitches: return usage.context_switches;
    case EventKind::PageFaults: return usage.minor_faults + usage.major_faults;
    case EventKind::MinorFaults: return usage.minor_faults;
    case EventKind::MajorFaults: return usage.major_faults;
    case EventKind::Hardware:  // counted by a PMU
    case EventKind::BranchTrace:
    case EventKind::IbsOp:
    case EventKind::IbsFetch:
    case EventKind::RanInstructions:
    case EventKind::RanBranches:
    case EventKind::RanInContexts: break;
  }
  return 0;
}

/// Whether samples show what is gone when the thread has gone on.
bool wants_registers(const RecordingConfig& config) {
  if (config.traces_branches()) return true;
  return config.samples() && (config.registers || config.callchain != Callchain::None || config.branch_stack ||
                              config.raw_records || config.skid != Skid::None || config.samples_by_ibs());
}

}  // namespace

RecordingParts::RecordingParts(const RecordingConfig& wanted, const arch::CpuModel& cpu, std::vector<BankPlan> plans,
                               uarch::ModelledMachine* modelled, Channel& channel, RecordingClock& time,
                               ProgramMemory& program)
    : config(wanted),
      model(cpu),
      banks(std::move(plans)),
      machine(modelled),
      clock(time),
      memory(program),
      host_pid(getpid()),
      out(channel, host_pid),
      probes(config, memory),
      build_ids(memory),
      estimated(config.estimated_events()),
      traced_code(config.trace_filter) {
  if (config.heap_blocks) heap.emplace(memory);
  if (config.callchain == Callchain::Exact) stacks.emplace(memory);
  if (machine != nullptr && machine->sharing() != nullptr) sharing.emplace(*machine->sharing());
  if (config.in_units) units.emplace(model, config, clock);
}

RecordedThread::RecordedThread(RecordingParts& shared, const ThreadIdentity& who)
    : who_(who), host_tid_(gettid()), shared_(shared), adaptive_(shared.config.events.size()) {
  const RecordingConfig& config = shared.config;
  for (const BankPlan& plan : shared.banks) {
    drivers_.push_back(std::make_unique<PmuDriver>(shared.model, config, plan, shared.clock, pmi_requested_));
    pmus_.push_back(&drivers_.back()->pmu());
  }
  for (std::uint32_t i = 0; i < config.events.size(); ++i) {
    const EventSpec& event = config.events[i];
    std::optional<AdaptivePeriod> adaptive;
    if (event.frequency != 0)
      adaptive.emplace(event.frequency, event.first_period(),
                       shared.machine != nullptr ? AdaptivePeriod::kDenseBesideModel : 0);
    if (is_ibs(event.kind)) {
      ibs_.push_back(std::make_unique<IbsSampler>(shared.model, event, i, adaptive, shared.clock, pmi_requested_));
      pmus_.push_back(&ibs_.back()->pmu());
    } else {
      adaptive_[i] = adaptive;
    }
  }
  if (shared.machine != nullptr) core_ = shared.machine->attach_thread();
  if (shared.sharing) shared.sharing->attached(who.tid);
  if (wants_usage(config)) started_with_ = thread_usage(host_tid_);
  counters_.emplace(drivers_, config.events.size());
  std::optional<TracePass> pass;
  if (config.trace_filter.any())
    pass.emplace(config.trace_filter, shared.traced_code, ++shared.threads_of_process, shared.thread_names[who.tid]);
  if (config.traces_branches()) {
    trace_.emplace(shared.model, shared.clock, std::move(pass), [this](std::vector<std::byte> records) {
      shared_.out.write(Branches{.origin = shared_.origin(who_), .records = std::move(records)});
    });
    pmus_.push_back(&trace_->pmu());
  } else if (pass) {
    if (const auto parent = shared.switched_on.find(who.parent_tid); parent != shared.switched_on.end())
      pass->switch_on(parent->second);
    trace_.emplace(*std::move(pass));
  }
  if (config.marked_regions || !config.regions.empty()) regions_.emplace(config, shared.probes, *counters_);
  if (config.has_windows()) windows_.emplace(config, *counters_, shared.threads_started);
  if (config.skid != Skid::None && !config.has_windows()) skid_.emplace(config, *counters_, shared.threads_started);
  if (shared.units) {
    pmus_.push_back(&shared.units->pmu());
    units_.emplace(shared.estimated.size());
    weight_.samples_tagged_loads = std::ranges::any_of(shared.estimated, [&](std::uint32_t event) {
      return config.events[event].samples() && counters_->counts_tagged_loads(event);
    });
    for (const auto& driver : drivers_) driver->sleep();
    begin_unit();
  }
  if (shared.heap) heap_.emplace(*shared.heap);
}

bool RecordedThread::is_due(std::uint64_t now_ns, std::uint64_t every_ns) {
  constexpr std::uint64_t kSaved = 7;
  next_due_ns_ = std::max(next_due_ns_, now_ns - std::min(now_ns, kSaved * every_ns));
  if (next_due_ns_ > now_ns) return false;
  next_due_ns_ += every_ns;
  return true;
}

engine::VirtualCpu RecordedThread::virtual_cpu() const {
  return {.pmus = pmus_,
          .pmi_requested = &pmi_requested_,
          .core = core_.get(),
          .late_interrupts = windows_.has_value() && !shared_.config.samples(),
          .stops_at_pmi = shared_.config.callchain != Callchain::None || is_late_interrupt(shared_.config.skid),
          .wants_registers = wants_registers(shared_.config),
          .probes = regions_.has_value() || heap_.has_value(),
          .counts_paths = shared_.config.profiles(),
          .paths_wanted = shared_.config.profiles() && trace_ ? trace_->open() : nullptr,
          .phase = shared_.units ? &shared_.units->phase() : nullptr,
          .phase_over = shared_.units ? &shared_.units->over() : nullptr};
}

void RecordedThread::begin_unit() {
  if (shared_.units->phase() != engine::Phase::Unit) return;
  for (const auto& driver : drivers_) driver->wake();
  follow_weight();
  tag_more_loads(weight_.times_tagged());
  unit_start_ = counts_of_unit();
  take_waits();
  if (regions_) regions_->begin_unit(unit());
  if (windows_) windows_->begin_unit(unit());
}

Unit RecordedThread::unit() const {
  Unit unit = shared_.units->unit();
  std::uint64_t state = shared_.config.units.seed;
  unit.number += splitmix64(state) % UnitSums::kGroups;
  return unit;
}

void RecordedThread::end_unit() {
  if (shared_.units->phase() != engine::Phase::Unit) return;
  drain();
  add_unit_to(*units_);
  if (regions_) regions_->end_unit();
  if (windows_) windows_->end_unit();
  weight_.stood_for = stands_for();
  tag_more_loads(1);
  for (const auto& driver : drivers_) driver->sleep();
}

CompletePart::Waits RecordedThread::take_waits() {
  using enum arch::CoreSignal;
  constexpr std::uint64_t kCyclesOfALine = 100;  // chosen: of the processors' published ones, roughly
  if (core_ == nullptr) return {};
  const arch::CoreSignals& signals = core_->signals();
  const CompletePart::Waits now{.cycles = signals[Cycles],
                                .for_others = kCyclesOfALine * (signals[LoadL3Hitm] + signals[RfoHitm])};
  const CompletePart::Waits before = std::exchange(waits_taken_, now);
  return {.cycles = now.cycles - before.cycles, .for_others = now.for_others - before.for_others};
}

UnitSums RecordedThread::unit_sums() {
  UnitSums sums = *units_;
  if (shared_.units->phase() == engine::Phase::Unit) add_unit_to(sums);
  sums.set_instructions(progress());
  return sums;
}

bool RecordedThread::take_pmi(const arch::RegisterFile& registers, bool ahead) {
  serviced_.registers = &registers;
  for (auto& driver : drivers_) {
    serviced_.driver = driver.get();
    serviced_.driver->take_pmi(*this);
    forget_drained();
  }
  for (const auto& sampler : ibs_) {
    const auto taken = sampler->take_interrupt();
    if (!taken) continue;
    const PlannedCounter counter{.event = sampler->event()};
    Sample sample = sample_of(counter, taken->period, registers);
    sample.time_ns = shared_.clock.now_ns();
    tell(*taken, sample);
    if (shared_.heap && sample.address != 0) sample.heap_block = shared_.heap->find(sample.address);
    if (shared_.config.raw_records) sample.raw = raw_data(*taken, shared_.model);
    finish(sample, counter, registers);
    sampler->go_on(sampler->adapts() ? progress() : 0);
  }
  if (skid_) {
    for (const SkidReplay::Taken& taken : skid_->served(progress(), registers.ip)) {
      serviced_.driver = taken.overflow.driver;
      Sample sample = sample_of(taken.overflow.counter, taken.overflow.events, registers);
      report_skid(taken, sample);
      sample.time_ns = shared_.clock.now_ns();
      finish(sample, taken.overflow.counter, registers);
    }
  }
  pmi_requested_ = false;
  serviced_.registers = nullptr;
  if (!windows_) return false;
  if (ahead) return windows_->served_ahead();
  write(windows_->served());
  return false;
}

void RecordedThread::reached(std::span<const engine::ProbeVisit> visits, const arch::RegisterFile* registers,
                             const std::function<void()>& before_heap_changes) {
  if (heap_ && registers != nullptr) {
    heap_->reached(visits.front().pc, *registers, before_heap_changes);
  }
  if (!regions_) return;
  if (trace_) trace_->drain();
  regions_->reached(visits, registers, spans_);
  if (trace_) {
    trace_->reached(visits, shared_.probes, regions_->any_open());
    shared_.switched_on[who_.tid] = trace_->switched_on();
  }
  if (!spans_.empty()) write_spans();
}

void RecordedThread::close() {
  if (regions_) regions_->end(spans_);
  write_spans();
  if (windows_) write(windows_->rest());
  if (!skid_) return;
  for (const auto& [event, sample] : skid_->waiting())
    shared_.out.write(Lost{.origin = shared_.origin(who_), .event = event, .samples = 1});
}

void RecordedThread::find_heap_blocks_of_records() {
  for (auto& driver : drivers_) {
    driver->look_ahead([&](const PebsFacts& facts) {
      found_ahead_[driver.get()].emplace(facts.record.data(), shared_.heap->find(facts.data_address));
    });
  }
}

void RecordedThread::drain() {
  for (auto& driver : drivers_) {
    serviced_.driver = driver.get();
    serviced_.driver->drain(*this);
    forget_drained();
  }
  if (trace_) trace_->finish();
}

std::vector<std::uint64_t> RecordedThread::counts() {
  const auto& events = shared_.config.events;
  std::vector<std::uint64_t> values(events.size(), 0);
  counters_->totals(values);
  if (wants_usage(shared_.config)) {
    const ThreadUsage now = thread_usage(host_tid_);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!is_counted_by_kernel(events[i].kind)) continue;
      const std::uint64_t before = measured(events[i].kind, started_with_);
      values[i] = std::max(measured(events[i].kind, now), before) - before;
    }
  }
  for (const auto& sampler : ibs_) values[sampler->event()] = sampler->total();
  if (units_) unit_sums().put_totals(shared_.estimated, values);
  values.resize(reported_events(shared_.config));
  return values;
}

std::uint64_t RecordedThread::progress() {
  CHECK(reported_events(shared_.config) < shared_.config.events.size());
  return counters_->total(shared_.config.events.size() - 1) + (in_call_ ? 1 : 0);
}

DriverStatistics RecordedThread::statistics() const {
  DriverStatistics sum;
  for (const auto& driver : drivers_) {
    sum.pmis += driver->statistics().pmis;
    sum.records += driver->statistics().records;
    sum.lost += driver->statistics().lost;
  }
  for (const auto& sampler : ibs_) sum.pmis += sampler->interrupts();
  return sum;
}

void RecordedThread::record(const PlannedCounter& counter, std::uint64_t period, std::uint64_t events,
                            const PebsFacts& facts) {
  const EventSpec& event = shared_.config.events[counter.event];
  // perf leaves out the one that arming takes. Where periods are short, as they are in units and where they begin at 1
  // to follow a frequency, that would be up to half of all.
  const bool in_unit = shared_.units && shared_.config.is_estimated(event) && weight_.instructions != 1;
  const bool adds_up = event.frequency != 0 || in_unit;
  Sample sample = sample_of(counter, adds_up ? events : period, facts.registers);
  sample.time_ns = facts.tsc ? shared_.clock.ns_at(*facts.tsc) : shared_.clock.now_ns();
  // precise 1 is the record's own instruction pointer, past the instruction; more asks for the instruction itself,
  // which formats 0 and 1 do not have.
  sample.exact_ip = event.precise >= 2 && facts.eventing_ip.has_value();
  if (sample.exact_ip) sample.ip = *facts.eventing_ip;
  sample.address = facts.data_address;
  sample.data_source = arch::perf_mem::kNothingKnown.bits;
  if (core_ != nullptr) report_access(sample, event, facts);
  if (shared_.heap) sample.heap_block = heap_block_of(facts);
  if (shared_.config.raw_records) sample.raw = serviced_.driver->excerpt(facts);
  finish(sample, counter, facts.registers);
}

void RecordedThread::overflow(const PlannedCounter& counter, std::uint64_t events) {
  CHECK(serviced_.registers != nullptr);
  const EventSpec& event = shared_.config.events[counter.event];
  if (windows_ && (event.closes_window || counter.event == shared_.config.skid_event)) {
    windows_->overflowed(counter.event);
    return;
  }
  if (skid_ && counter.event == shared_.config.skid_event) {
    skid_->skid_is_over();
    return;
  }
  if (skid_) {
    const auto by = serviced_.driver->overflowed_at(counter.counter);
    if (!by) {
      lost(counter);
      return;
    }
    const std::uint64_t period = adaptive_[counter.event] ? adaptive_[counter.event]->period() : event.period;
    skid_->overflowed(
        {.driver = serviced_.driver, .counter = counter, .ip = *by, .position = progress(), .events = events}, period);
    return;
  }
  Sample sample = sample_of(counter, events, *serviced_.registers);
  sample.data_source = arch::perf_mem::kNothingKnown.bits;
  sample.time_ns = shared_.clock.now_ns();
  finish(sample, counter, *serviced_.registers);
}

void RecordedThread::lost(const PlannedCounter& counter) {
  shared_.out.write(Lost{.origin = shared_.origin(who_), .event = counter.event, .samples = 1});
}

std::shared_ptr<const HeapBlock> RecordedThread::heap_block_of(const PebsFacts& facts) {
  const auto found = found_ahead_.find(serviced_.driver);
  if (found != found_ahead_.end()) {
    const auto ahead = found->second.find(facts.record.data());
    if (ahead != found->second.end()) return ahead->second;
  }
  return shared_.heap->find(facts.data_address);
}

void RecordedThread::forget_drained() {
  if (!found_ahead_.empty() && serviced_.driver->looked_ahead() == 0) found_ahead_.erase(serviced_.driver);
}

void RecordedThread::write(Window* window) {
  if (window == nullptr) return;
  window->origin = {.pid = who_.pid, .tid = who_.tid, .time_ns = 0};  // its time is in instructions
  shared_.out.write(*window);
}

void RecordedThread::write_spans() {
  for (RegionSpan& span : spans_) {
    span.origin = shared_.origin(who_);
    shared_.out.write(std::move(span));
  }
  spans_.clear();
}

Sample RecordedThread::sample_of(const PlannedCounter& counter, std::uint64_t period,
                                 const arch::RegisterFile& registers) const {
  Sample sample;
  sample.event = counter.event;
  sample.pid = who_.pid;
  sample.tid = who_.tid;
  if (core_ != nullptr) sample.cpu = core_->core_number();
  sample.period = period * weight_of(counter);
  sample.ip = registers.ip;
  return sample;
}

void RecordedThread::report_access(Sample& sample, const EventSpec& event, const PebsFacts& facts) const {
  // Of an event that is counted exactly, between two units: the core was not told of it.
  if (shared_.units && shared_.units->phase() == engine::Phase::FastForward) return;
  const arch::CpuModel& model = shared_.model;
  const arch::SourceWord word = source_word_of(event, model);
  sample.data_source = arch::perf_data_src(model.data_source, word, facts.data_source);
  const arch::AccessLatency latency = arch::decode_latency(model.data_source, word, facts.latency);
  sample.latency = latency.cycles;
  sample.instruction_latency = static_cast<std::uint16_t>(latency.instruction_cycles);
}

void RecordedThread::finish(Sample& sample, const PlannedCounter& counter, const arch::RegisterFile& registers) {
  const RecordingConfig& config = shared_.config;
  sample.has_registers = config.registers || config.callchain == Callchain::Dwarf;
  if (sample.has_registers) sample.registers = registers;
  if (config.branch_stack || config.callchain == Callchain::LbrCallStack) serviced_.driver->read_lbr(sample.branches);
  if (config.callchain == Callchain::FramePointers || config.callchain == Callchain::LbrCallStack) {
    sample.callchain = walk_frame_pointers(sample.ip, registers, shared_.memory, config.max_stack);
  }
  if (config.callchain == Callchain::Dwarf) copy_stack(sample, registers.sp);
  if (shared_.stacks) sample.callchain = shared_.stacks->walk(sample.ip, registers, config.max_stack, sample.chain_end);
  shared_.out.write(sample);
  if (adaptive_[counter.event]) adapt(counter);
}

void RecordedThread::add_unit_to(UnitSums& sums) { sums.add(unit(), unit_start_, counts_of_unit()); }

UnitCounts RecordedThread::counts_of_unit() { return counters_->unit_counts(progress(), shared_.estimated); }

std::uint64_t RecordedThread::weight_of(const PlannedCounter& counter) const {
  const EventSpec& event = shared_.config.events[counter.event];
  if (!shared_.config.is_estimated(event)) return 1;
  return counters_->counts_tagged_loads(counter.event) ? weight_.instructions / weight_.times_tagged()
                                                       : weight_.instructions;
}

void RecordedThread::tag_more_loads(std::uint32_t times) {
  if (!weight_.samples_tagged_loads) return;
  core_->tag_more_loads(times);
  counters_->set_times_tagged(times);
}

std::uint64_t RecordedThread::stands_for() {
  return weight_.stood_for + (progress() - unit_start_.instructions) * weight_.instructions;
}

std::uint64_t RecordedThread::seen_period(const PlannedCounter& counter, std::uint64_t period) const {
  return std::max<std::uint64_t>(period / weight_of(counter), 1);
}

void RecordedThread::follow_weight() {
  const std::uint64_t weight = shared_.units->unit().weight;
  if (weight == std::exchange(weight_.instructions, weight)) return;
  for (const auto& driver : drivers_) {
    for (std::size_t i = 0; i < driver->plan().size(); ++i) {
      const PlannedCounter& counter = driver->plan()[i];
      const EventSpec& event = shared_.config.events[counter.event];
      if (!shared_.config.is_estimated(event) || !event.samples()) continue;
      const std::uint64_t wanted = adaptive_[counter.event] ? adaptive_[counter.event]->period() : event.period;
      if (counter.pebs)
        driver->set_period(i, seen_period(counter, wanted));
      else
        driver->restart(i, seen_period(counter, wanted));
    }
  }
  drain();
}

void RecordedThread::copy_stack(Sample& sample, std::uint64_t sp) {
  sample.user_stack.resize(shared_.config.stack_bytes);
  const std::size_t copied = shared_.memory.read(sp, sample.user_stack);
  sample.user_stack.resize(copied / 8 * 8);
}

void RecordedThread::adapt(const PlannedCounter& counter) {
  const bool estimated = shared_.config.is_estimated(shared_.config.events[counter.event]);
  const std::uint64_t period = adaptive_[counter.event]->sampled_at(estimated ? stands_for() : progress());
  for (std::size_t i = 0; i < serviced_.driver->plan().size(); ++i) {
    if (serviced_.driver->plan()[i] == counter) serviced_.driver->set_period(i, seen_period(counter, period));
  }
}

}  // namespace zs::session
