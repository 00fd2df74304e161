#include "machine/retirement_feed.h"

#include <algorithm>

#include "arch/cpu_model.h"
#include "arch/ibs.h"
#include "machine/attached_core.h"
#include "machine/last_level_cache.h"
#include "machine/vcpu/vcpu.h"

namespace zs::machine {
namespace {

/// One by one, it is looked after so many instructions whether that is still needed.
constexpr std::uint64_t kEachStretch = 64;
constexpr std::uint64_t kLongAway = std::uint64_t{1} << 40;

arch::TransferCause pmu_cause(TransferCause cause) {
  switch (cause) {
    case TransferCause::Exception: return arch::TransferCause::Exception;
    case TransferCause::Interrupt: return arch::TransferCause::Interrupt;
    default: return arch::TransferCause::Instruction;
  }
}

constexpr std::uint64_t kLongMode = 1u << 10;  // EFER.LMA

}  // namespace

RetirementFeed::RetirementFeed(const arch::CpuModel& model, pmu::Pmu& pmu, Clock& clock, LastLevelCache& cache)
    : has_ibs_(arch::has_ibs(model)), pmu_(pmu), clock_(clock), cache_(cache), fed_{{&pmu, [] {}}} {}

RetirementFeed::~RetirementFeed() = default;

void RetirementFeed::attach(const uarch::CoreModel& model) {
  core_ = std::make_unique<AttachedCore>(model);
  passed_ = {};
  cpu_->watch_changed();
}

void RetirementFeed::look_from_outside(std::vector<OutsidePmu> pmus) {
  fed_.resize(1);
  for (OutsidePmu& outside : pmus) fed_.push_back({outside.pmu, std::move(outside.acted)});
  cpu_->watch_changed();
}

bool RetirementFeed::any_pmu(const auto& is) const {
  return std::ranges::any_of(fed_, [&is](const Fed& fed) { return is(*fed.pmu); });
}

bool RetirementFeed::wants_each() const {
  return tracing() || closely_ || caching_ || core_ != nullptr || any_pmu([](auto& pmu) { return pmu.needs_each(); });
}

/// What the counters want to know of the core's.
void RetirementFeed::ask_core() {
  if (branches_) core_->remember_branches();
  const auto counts_latency = [](const arch::EventMeaning& event) {
    return arch::depends_on(event, arch::CoreSignal::LatencyLoads);
  };
  if (std::ranges::any_of(pmu_.accumulators(ring_), counts_latency))
    core_->set_latency_threshold(static_cast<std::uint32_t>(pmu_.latency_threshold()));
}

void RetirementFeed::look_closely(bool on) {
  closely_ = on;
  seen_ = {};
  cpu_->watch_changed();
}

/// Instructions that may retire unseen in that ring before a counter would do more than count.
std::uint64_t RetirementFeed::room(pmu::Ring ring) const {
  std::uint64_t instructions = kLongAway;
  for (const Fed& fed : fed_) {
    const std::size_t accumulators = fed.pmu->accumulators(ring).size();
    for (std::size_t i = 0; i < accumulators; ++i) {
      instructions = std::min(instructions, fed.pmu->headroom(i, ring) / kMaxEventsPerTalliedInstruction);
    }
  }
  return instructions;
}

Watch RetirementFeed::watch(unsigned cpl) {
  ring_ = pmu::ring_of(cpl);
  for (Fed& fed : fed_) {
    for (const auto ring : {pmu::Ring::User, pmu::Ring::Kernel})
      fed.generation[static_cast<int>(ring)] = fed.pmu->accumulators_generation(ring);
  }
  branches_ = any_pmu([](auto& pmu) { return pmu.wants_branches(); });
  const bool counting = any_pmu([this](auto& pmu) { return !pmu.accumulators(ring_).empty(); });
  const std::uint64_t instructions = counting ? room(ring_) : kLongAway;
  if (core_ != nullptr) ask_core();
  caching_ = core_ == nullptr && std::ranges::any_of(pmu_.accumulators(ring_), LastLevelCache::counts);
  if (std::uint64_t control = 0; has_ibs_ && pmu_.rdmsr(arch::IbsOpCtl::msr, control))
    samples_ops_ = arch::IbsOpCtl{control}.has(arch::IbsOpCtl::enable);
  forced_each_ = wants_each();
  each_ = forced_each_ || instructions == 0;

  // Cycles that a counter has room for, and the time to the next timer, bound every stretch.
  std::uint64_t ticks = kLongAway;
  for (const Fed& fed : fed_) {
    const pmu::Elapsed time = fed.pmu->time_headroom(ring_);
    ticks = std::min({ticks, time.core, time.reference});
    if (time.bus < kLongAway / kTscTicksPerBusTick) ticks = std::min(ticks, time.bus * kTscTicksPerBusTick);
  }
  if (const std::uint64_t deadline = next_deadline(); deadline != kNever) {
    ticks = std::min(ticks, deadline > clock_.now() ? deadline - clock_.now() : 1);
  }
  const std::uint64_t by_time = std::max<std::uint64_t>(ticks / kCyclesPerInstruction, 1);
  // How long an instruction takes in the core is known behind it.
  each_left_ = core_ != nullptr ? 1 : std::min(by_time, kEachStretch);

  Watch watch;
  watch.retirements = each_      ? Watch::Retirements::Each
                      : counting ? Watch::Retirements::Tally
                                 : Watch::Retirements::Count;
  watch.accesses = caching_;
  watch.branches = branches_ || static_cast<bool>(trace_.transfer);
  watch.horizon = each_ ? each_left_ : std::min(instructions, by_time);
  return watch;
}

void RetirementFeed::counted(std::uint64_t instructions) {
  if (instructions == 0) return;
  if (core_ == nullptr) return stall(instructions * kCyclesPerInstruction);
  using enum arch::CoreSignal;
  const arch::CoreSignals& now = core_->signals();
  const std::uint64_t cycles = now[Cycles] - passed_[Cycles], slots = now[Slots] - passed_[Slots];
  if (cycles + slots == 0) return;
  const pmu::IssuedSlots issued = pmu::issued_slots(now, passed_);
  passed_ = now;
  pass(cycles, slots);
  for (const Fed& fed : fed_) fed.pmu->issue(issued, ring_);
}

std::uint64_t RetirementFeed::unreported_ticks() const {
  return core_ == nullptr ? cpu_->unreported() * kCyclesPerInstruction : 0;
}

void RetirementFeed::stall(std::uint64_t ticks) { pass(ticks, 0); }

void RetirementFeed::pass(std::uint64_t ticks, std::uint64_t slots) {
  const std::uint64_t bus_before = clock_.now() / kTscTicksPerBusTick;
  clock_.advance(ticks);
  const pmu::Elapsed passed{
      .core = ticks, .reference = ticks, .bus = clock_.now() / kTscTicksPerBusTick - bus_before, .slots = slots};
  for (const Fed& fed : fed_) fed.pmu->advance(passed, ring_);
  run_timers();
  after_pmu_acted();
}

void RetirementFeed::tallied(std::span<const Tally> tallies) {
  for (const Tally& tally : tallies) {
    const pmu::Ring ring = pmu::ring_of(tally.kind.cpl);
    for (const Fed& fed : fed_) {
      const auto accumulators = fed.pmu->accumulators(ring);
      for (std::size_t i = 0; i < accumulators.size(); ++i) {
        const std::uint64_t events = accumulators[i].count(tally.kind) * tally.times;
        if (events != 0) fed.pmu->count(i, events, ring);
      }
    }
  }
}

void RetirementFeed::accessed(std::uint64_t physical) { cache_.access(physical); }
void RetirementFeed::line_flushed(std::uint64_t physical) { cache_.flush_line(physical); }
void RetirementFeed::caches_flushed() { cache_.flush_all(); }

/// The layout of the Debug Store and the width of records follow the mode that the CPU is in now.
void RetirementFeed::follow_mode() {
  const bool long_mode = (cpu_->efer() & kLongMode) != 0;
  pmu_.set_mode({.ia32e = long_mode, .code64 = long_mode && cpu_->segment(kCs).long_code()});
}

void RetirementFeed::after_pmu_acted() {
  if (const auto fault = pmu_.take_ds_fault()) cpu_->raise_linear_fault(fault->address, fault->write);
  bool changed = forced_each_ != wants_each(), branches = false;
  for (const Fed& fed : fed_) {
    fed.acted();
    for (const auto ring : {pmu::Ring::User, pmu::Ring::Kernel})
      changed = changed || fed.generation[static_cast<int>(ring)] != fed.pmu->accumulators_generation(ring);
    branches = branches || fed.pmu->wants_branches();
  }
  if (changed || branches != branches_) cpu_->watch_changed();
}

void RetirementFeed::retired(const arch::Retired& retired, const arch::RegisterFile& after,
                             std::span<const MemoryAccess> accesses) {
  if (tracing()) trace_.instruction(retired, accesses);
  if (closely_) {
    seen_.loads = seen_.loads || retired.load_count != 0 || !accesses.empty();
    seen_.stores = seen_.stores || retired.store_count != 0;
    for (const MemoryAccess& access : accesses) seen_.stores = seen_.stores || access.write;
  }
  follow_mode();
  arch::Retired entered = retired;
  entered.transfer_entered = !each_;
  if (has_entering_) {
    entered.next_cpl = entering_.cpl_to;
    entered.mispredicted = entering_.mispredicted;
    has_entering_ = false;
  }
  if (core_ != nullptr) core_->retire(*cpu_, pmu_.mode().code64, entered, accesses);
  if (caching_) {
    signals_ = cache_.take_signals();
    entered.signals = &signals_;
  }
  if (samples_ops_ && !accesses.empty()) entered.physical = cpu_->physical(retired.data_address).value_or(0);
  for (const Fed& fed : fed_) fed.pmu->retire(entered, after);
  after_pmu_acted();
  if (each_ && --each_left_ == 0) cpu_->watch_changed();
}

void RetirementFeed::transferred(const arch::TakenBranch& branch, TransferCause cause) {
  if (trace_.transfer) trace_.transfer(branch, cause);
  if (cause != TransferCause::Instruction) seen_.transfers = true;
  // One by one, Pmu::retire enters the branch itself, in its order: after counters and the PEBS record.
  if (each_ && cause == TransferCause::Instruction) {
    entering_ = branch;
    has_entering_ = true;
    return;
  }
  follow_mode();
  arch::TakenBranch entered = branch;
  entered.cause = pmu_cause(cause);
  for (const Fed& fed : fed_) fed.pmu->enter_branch(entered);
  after_pmu_acted();
}

void RetirementFeed::debug_exception() {
  pmu_.debug_exception();
  cpu_->set_debugctl(pmu_.debugctl().raw());
  after_pmu_acted();
}

void RetirementFeed::smm(bool entered) {
  if (entered) {
    pmu_.enter_smm();
  } else {
    pmu_.leave_smm();
  }
  cpu_->set_debugctl(pmu_.debugctl().raw());
  cpu_->watch_changed();
}

void RetirementFeed::init() {
  pmu_.init();
  cpu_->set_debugctl(pmu_.debugctl().raw());
  if (on_init_) on_init_();
  cpu_->watch_changed();
}

void RetirementFeed::machine_check() {
  pmu_.machine_check();
  cpu_->set_debugctl(pmu_.debugctl().raw());
  cpu_->watch_changed();
}

std::uint64_t RetirementFeed::next_deadline() const {
  std::uint64_t earliest = kNever;
  for (const TimedDevice* device : timers_) earliest = std::min(earliest, device->deadline());
  return earliest;
}

void RetirementFeed::run_timers() {
  for (TimedDevice* device : timers_) {
    if (device->deadline() <= clock_.now()) device->clock_moved();
  }
}

}  // namespace zs::machine
