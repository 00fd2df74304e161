// The registers' addresses, what transfers of control are recorded, and what follows from an instruction that made a
// counter wrap: PEBS record, reload, status, BTS record, freeze, PMI, in this order.
//   * A PEBS counter with INT set asks for its overflow PMI after the record, when its status bit may already be clear;
//     a threshold PMI of the same record goes first, and several counters that overflow together ask once.
//     source: SDM vol. 3B, "Performance Counter Prioritization" in the Nehalem part.
//   * BTS_OFF_OS and BTS_OFF_USR judge the ring that the branch ends in: measured; the manual does not say.
//   * #DB clears LBR and BTF. The Debug Store is off in SMM and after a machine check. INIT clears DEBUGCTL and
//     PEBS_ENABLE and keeps the rest. source: SDM vol. 3B, "Monitoring Branches, Exceptions, and Interrupts", "DS Save
//     Area"; which registers "clears the recording mechanism" means, and that a write of the enable ends a machine
//     check's stop, is ours.
#include "pmu/pmu.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "arch/cpu_model.h"
#include "arch/msr_map.h"
#include "arch/msrs.h"
#include "base/check.h"
#include "pmu/counters.h"
#include "pmu/debug_store.h"
#include "pmu/ibs.h"
#include "pmu/lbr_stack.h"
#include "pmu/pebs_assist.h"
#include "pmu/perf_metrics.h"

namespace zs::pmu {

using arch::CounterSet;
using arch::DebugCtl;
using arch::FixedCtrCtrl;
using arch::GlobalStatus;
using arch::Msr;
using arch::PerfEvtSel;
using arch::Quirk;

/// FIXED_CTR3, the base of the metrics.
constexpr unsigned kSlotsCounter = arch::kFirstFixedBit + 3;

class Pmu::Impl {
 public:
  Impl(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock, arch::QuirkSet quirks)
      : model_(arch::with_quirks(model, quirks)),
        pmi_(pmi),
        clock_(clock),
        counters_(model_),
        lbr_(model_, clock),
        store_(memory, model_),
        metrics_(model_.fixed_width, model_.metrics_fields) {
    CHECK(arch::is_consistent(model_));
  }
  Impl(const Impl&) = delete;  // its parts refer to one another
  Impl& operator=(const Impl&) = delete;

  bool rdmsr(std::uint32_t address, std::uint64_t& value) const;
  bool wrmsr(std::uint32_t address, std::uint64_t value);
  bool rdpmc(std::uint32_t ecx, std::uint64_t& value) const;

  Counters& counters() { return counters_; }
  std::uint64_t latency_threshold() const { return selectors_.latency.get(arch::LoadLatency::threshold); }
  std::uint32_t generation(Ring ring);
  bool records_branches() const { return lbr_on_ || bts_on_; }
  void enter_branch(const arch::TakenBranch& branch) {
    if (lbr_on_ && !bts_on_ && branch.cause == arch::TransferCause::Instruction) [[likely]] {
      lbr_.enter(branch);
    } else {
      enter_any_branch(branch);
    }
  }
  void retire(const arch::Retired& retired, const arch::RegisterFile& after);
  // Branches have records of their own, which lie between.
  Repeating repeating(std::size_t accumulator, Ring ring) const {
    return records_branches() || in_smm_ || pebs_stopped_ ? Repeating{} : pebs_.repeating(accumulator, ring);
  }
  void advance(const Elapsed& elapsed, Ring ring);
  void pass(std::size_t accumulator, std::uint64_t events, Ring ring);
  void pass(std::span<const std::uint64_t> events, Ring ring) { wrapped(counters_.pass(events, ring)); }
  void wrapped(const Counters::Step& all);
  void issue(const IssuedSlots& issued, Ring ring);

  arch::LbrSelect branch_filter() const {
    if (bts_on_) return {};
    return model_.lbr_kind == arch::LbrKind::Architectural ? arch::lbr_select_of(lbr_.control()) : lbr_.select();
  }
  bool needs_each() {
    if (counters_.arming().any_due() || ibs_.is_due()) return true;
    const bool may_freeze = bts_on_ && debugctl_.has(DebugCtl::freeze_perfmon);
    if (!may_freeze && !model_.quirks.has(Quirk::InterruptsCountOnce)) return false;
    return !counters_.accumulators(Ring::User).empty() || !counters_.accumulators(Ring::Kernel).empty();
  }
  std::optional<DsFault> take_ds_fault() { return store_.take_fault(); }
  void set_mode(Mode mode);
  Mode mode() const { return mode_; }
  void set_vector_registers(VectorRegisters* registers) { pebs_.set_vector_registers(registers); }
  arch::QuirkSet quirks() const { return model_.quirks; }
  DebugCtl debugctl() const { return debugctl_; }

  void debug_exception();
  void enter_smm();
  void leave_smm();
  void machine_check();
  void init();
  void reset(bool warm);

 private:
  arch::GlobalInUse in_use() const;
  std::uint64_t metrics() const { return metrics_.value(counters_.value(kSlotsCounter)); }
  void set_debugctl(DebugCtl value);
  void set_pebs_enable(std::uint64_t value);
  void choose_branches();
  bool stores(const arch::TakenBranch& branch) const {
    return branch.cpl_to == 0 ? !debugctl_.has(DebugCtl::bts_off_os) : !debugctl_.has(DebugCtl::bts_off_usr);
  }
  void enter_any_branch(const arch::TakenBranch& branch);
  void enter_interruption(const arch::TakenBranch& branch);
  void take(const Counters::Step& step, const arch::Retired& retired, const arch::RegisterFile& after);
  void request_pmi();

  arch::CpuModel model_;
  PmiSink& pmi_;
  Clock& clock_;
  Counters counters_;
  LbrStack lbr_;
  DebugStore store_;
  PebsAssist pebs_{model_, counters_, store_, lbr_, clock_};
  Mode mode_;

  DebugCtl debugctl_;
  std::uint64_t pebs_enable_ = 0;
  /// Registers beside a select that say what it counts.
  struct Selectors {
    arch::LoadLatency latency;
    std::uint64_t frontend = 0;
    std::array<std::uint64_t, arch::OffcoreResponse::msrs.count> offcore{};
  } selectors_;
  PerfMetrics metrics_;
  Ibs ibs_{counters_};

  struct FoundMsr {
    std::uint32_t address = 0;
    arch::MsrRef msr{};
    std::optional<std::uint64_t> writable;  // a value of these bits alone is_writable()
  };
  const FoundMsr* find(std::uint32_t address) const;
  mutable std::array<FoundMsr, 32> found_msrs_;  // by the address's low bits

  // What may be recorded now.
  bool lbr_on_ = false, bts_on_ = false;
  bool bts_stopped_ = false, pebs_stopped_ = false;  // by a machine check, until software writes the enable again
  bool in_smm_ = false;
  DebugCtl debugctl_before_smm_;
  arch::GlobalCtrl control_before_smm_;
  bool debug_exception_next_ = false;  // the transfer to come delivers a #DB

  std::uint32_t branch_generation_ = 0;  // changes of records_branches(), as generation() saw them
  bool recorded_branches_ = false;
};

arch::GlobalInUse Pmu::Impl::in_use() const {
  std::uint64_t bits = 0;
  for (unsigned n = 0; n < model_.general_counters; ++n) {
    if (counters_.select(n).has(PerfEvtSel::event)) bits |= arch::only(n).bits;
  }
  for (unsigned i = 0; i < model_.fixed_counters; ++i) {
    const FixedCtrCtrl control = counters_.fixed_control();
    if (control.has(FixedCtrCtrl::kernel, i) || control.has(FixedCtrCtrl::user, i)) bits |= arch::fixed(i).bits;
  }
  const bool pmi = !counters_.interrupting().empty() || pebs_enable_ != 0;
  return arch::GlobalInUse{bits}.with(arch::GlobalInUse::pmi, pmi);
}

// A PMI handler asks for the same few registers each time.
const Pmu::Impl::FoundMsr* Pmu::Impl::find(std::uint32_t address) const {
  FoundMsr& found = found_msrs_[address % found_msrs_.size()];
  if (found.msr.fact == nullptr || found.address != address) [[unlikely]] {
    const auto msr = arch::find_msr(model_, address);
    if (!msr) return nullptr;
    found = {address, *msr, std::nullopt};
    if (msr->fact->access != arch::MsrAccess::ReadOnly && msr->fact->value == arch::MsrValue::Bits)
      found.writable = msr->fact->writable(model_, msr->index);
  }
  return &found;
}

bool Pmu::Impl::rdmsr(std::uint32_t address, std::uint64_t& value) const {
  const FoundMsr* const found = find(address);
  if (found == nullptr) return false;
  const unsigned i = found->msr.index;
  switch (found->msr.fact->msr) {
    case Msr::GeneralCounter:
    case Msr::FullWidthCounter: value = counters_.value(i); break;
    case Msr::FixedCounter: value = counters_.value(arch::kFirstFixedBit + i); break;
    case Msr::PerfEvtSel: value = counters_.select(i).raw(); break;
    case Msr::FixedCtrCtrl: value = counters_.fixed_control().raw(); break;
    case Msr::GlobalCtrl: value = counters_.control().raw(); break;
    case Msr::GlobalStatus: value = counters_.status().raw(); break;
    case Msr::GlobalOvfCtrl:
    case Msr::GlobalStatusSet: value = 0; break;
    case Msr::GlobalInUse: value = in_use().raw(); break;
    case Msr::PerfCapabilities:
    case Msr::MiscEnable: value = found->msr.fact->reset(model_); break;
    case Msr::PebsEnable: value = pebs_enable_; break;
    case Msr::PebsDataCfg: value = pebs_.groups().raw(); break;
    case Msr::LoadLatency: value = selectors_.latency.raw(); break;
    case Msr::PebsFrontend: value = selectors_.frontend; break;
    case Msr::OffcoreResponse: value = selectors_.offcore[i]; break;
    case Msr::PerfMetrics: value = metrics(); break;
    case Msr::DsArea: value = store_.address(); break;
    case Msr::DebugCtl: value = debugctl_.raw(); break;
    case Msr::LbrSelect: value = lbr_.select().raw(); break;
    case Msr::LbrCtl: value = lbr_.control().raw(); break;
    case Msr::LbrDepth: value = lbr_.depth(); break;
    case Msr::DbgExtnCfg: value = lbr_.extension().raw(); break;
    case Msr::LbrTos: value = lbr_.tos(); break;
    case Msr::LbrFrom: value = lbr_.entry(i).from; break;
    case Msr::LbrTo: value = lbr_.entry(i).to; break;
    case Msr::LbrInfo: value = lbr_.entry(i).info; break;
    case Msr::LerFrom: value = lbr_.last_exception().from; break;
    case Msr::LerTo: value = lbr_.last_exception().to; break;
    case Msr::LerInfo: value = lbr_.last_exception().info; break;
    default: value = ibs_.read(found->msr.fact->msr); break;  // instruction-based sampling
  }
  return true;
}

bool Pmu::Impl::wrmsr(std::uint32_t address, std::uint64_t value) {
  const FoundMsr* const found = find(address);
  if (found == nullptr) return false;
  const bool plain = found->writable && (value & ~*found->writable) == 0;
  if (!plain && !arch::is_writable(model_, found->msr, value)) return false;
  if (found->msr.fact->access == arch::MsrAccess::WriteIgnored) return true;
  const unsigned i = found->msr.index;
  if (found->msr.fact->value == arch::MsrValue::Truncated) value &= found->msr.fact->writable(model_, i);
  switch (found->msr.fact->msr) {
    case Msr::GeneralCounter: {  // bit 31 is copied into all bits above it
      const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
      pebs_.set_counter(i, static_cast<std::uint64_t>(std::int64_t{low}));
      break;
    }
    case Msr::FullWidthCounter: pebs_.set_counter(i, value); break;
    case Msr::FixedCounter: pebs_.set_counter(arch::kFirstFixedBit + i, value); break;
    case Msr::PerfEvtSel: counters_.set_select(i, PerfEvtSel{value}); break;
    case Msr::FixedCtrCtrl: counters_.set_fixed_control(FixedCtrCtrl{value}); break;
    case Msr::GlobalCtrl: counters_.set_control(arch::GlobalCtrl{value}); break;
    case Msr::GlobalOvfCtrl:
      counters_.clear_status(value);
      choose_branches();
      break;
    case Msr::GlobalStatusSet:
      counters_.set_status(value);
      // Where an event that is not precise is recorded, that makes a record.
      if (model_.pebs_of_any_event)
        counters_.arming().set_due(CounterSet{value & model_.counters().bits} & counters_.recorded_at_overflow());
      choose_branches();
      break;
    case Msr::PebsEnable: set_pebs_enable(value); break;
    case Msr::PebsDataCfg: pebs_.set_groups(arch::PebsDataCfg{value}); break;
    case Msr::LoadLatency: selectors_.latency = arch::LoadLatency{value}; break;
    case Msr::PebsFrontend: selectors_.frontend = value; break;
    case Msr::OffcoreResponse: selectors_.offcore[i] = value; break;
    case Msr::PerfMetrics: metrics_.set_value(value, counters_.value(kSlotsCounter)); break;
    case Msr::DsArea:
      // Without 64-bit words there is no upper half.
      if (store_.layout() == arch::DsLayout::Words32 && value >> 32 != 0) return false;
      store_.set_address(value);
      break;
    case Msr::DebugCtl:
      bts_stopped_ = false;
      set_debugctl(DebugCtl{value});
      break;
    case Msr::LbrSelect: lbr_.set_select(arch::LbrSelect{value}); break;
    case Msr::LbrCtl:
      lbr_.set_control(arch::LbrCtl{value});
      choose_branches();
      break;
    case Msr::LbrDepth: lbr_.set_depth(static_cast<unsigned>(value)); break;
    case Msr::DbgExtnCfg:
      lbr_.set_extension(arch::DbgExtnCfg{value});
      choose_branches();
      break;
    case Msr::LbrTos: lbr_.set_tos(static_cast<unsigned>(value)); break;
    case Msr::LbrFrom: lbr_.entry(i).from = value; break;
    case Msr::LbrTo: lbr_.entry(i).to = value; break;
    case Msr::LbrInfo: lbr_.entry(i).info = value; break;
    case Msr::LerFrom: lbr_.last_exception().from = value; break;
    case Msr::LerTo: lbr_.last_exception().to = value; break;
    case Msr::LerInfo: lbr_.last_exception().info = value; break;
    case Msr::IbsControl:
    case Msr::GlobalStatus:
    case Msr::GlobalInUse:
    case Msr::PerfCapabilities:
    case Msr::MiscEnable: return false;  // read-only
    default: ibs_.write(found->msr.fact->msr, value); break;
  }
  return true;
}

// ECX[30] chooses the fixed counters, ECX[29] the metrics, the rest is the index. The fast form (ECX[31]) is
// NetBurst's.
bool Pmu::Impl::rdpmc(std::uint32_t ecx, std::uint64_t& value) const {
  constexpr std::uint32_t kFast = 1U << 31, kFixed = 1U << 30, kMetrics = 1U << 29;
  if ((ecx & kFast) != 0) return false;
  if (ecx == kMetrics && model_.capabilities.has(arch::PerfCapabilities::metrics)) {
    value = metrics();
    return true;
  }
  const std::uint32_t index = ecx & (kFixed - 1);
  if ((ecx & kFixed) != 0) {
    if (index >= model_.fixed_counters) return false;
    value = counters_.value(arch::kFirstFixedBit + index);
  } else {
    if (index >= model_.general_counters) return false;
    value = counters_.value(index);
  }
  return true;
}

std::uint32_t Pmu::Impl::generation(Ring ring) {
  if (recorded_branches_ != records_branches()) {
    recorded_branches_ = !recorded_branches_;
    ++branch_generation_;
  }
  return counters_.generation(ring) + branch_generation_;
}

void Pmu::Impl::set_debugctl(DebugCtl value) {
  debugctl_ = value;
  choose_branches();
}

/// With PEBS baseline bit 32 on are the fixed counters'; before, the load-latency enables. There a counter needs both
/// bits.
void Pmu::Impl::set_pebs_enable(std::uint64_t value) {
  pebs_enable_ = value;
  pebs_stopped_ = false;
  const CounterSet enabled{value & model_.pebs_counters.bits};
  const CounterSet latency = model_.pebs_baseline() ? enabled.general() : enabled & CounterSet{value >> 32};
  const bool stores = model_.precise_store && arch::PebsEnable{value}.has(arch::PebsEnable::precise_store);
  counters_.set_pebs(enabled, latency, stores ? enabled & arch::only(3) : CounterSet{});
}

/// Which branches are recorded follows from what enables them, LBR_Frz, SMM and machine checks.
void Pmu::Impl::choose_branches() {
  lbr_on_ = lbr_.enabled(debugctl_) && !counters_.status().has(GlobalStatus::lbr_frozen);
  constexpr std::uint64_t kNobody = DebugCtl::bts_off_os.mask | DebugCtl::bts_off_usr.mask;
  const bool somebody = (debugctl_.raw() & kNobody) != kNobody;
  bts_on_ = debugctl_.has(DebugCtl::tr) && debugctl_.has(DebugCtl::bts) && somebody && !in_smm_ && !bts_stopped_;
}

void Pmu::Impl::set_mode(Mode mode) {
  mode_ = mode;
  store_.set_layout(model_.ds_64() || mode.ia32e ? arch::DsLayout::Words64 : arch::DsLayout::Words32);
}

void Pmu::Impl::enter_any_branch(const arch::TakenBranch& branch) {
  if (branch.cause != arch::TransferCause::Instruction) {
    enter_interruption(branch);
    return;
  }
  if (lbr_on_) lbr_.enter(branch);
  if (!bts_on_ || !stores(branch)) return;
  if (store_.store_branch(branch, debugctl_.has(DebugCtl::btint))) request_pmi();
}

/// A transfer that no instruction made.
void Pmu::Impl::enter_interruption(const arch::TakenBranch& branch) {
  arch::TakenBranch transfer = branch;
  transfer.cause = arch::TransferCause::Instruction;
  transfer.kind = arch::BranchKind::Far;
  lbr_.note_exception();
  const bool debug_exception = std::exchange(debug_exception_next_, false);
  if (lbr_on_ && !debug_exception) lbr_.enter(transfer);
  const bool in_bts = bts_on_ && stores(transfer);
  if (in_bts && store_.store_branch(transfer, debugctl_.has(DebugCtl::btint))) request_pmi();
  if (!model_.quirks.has(Quirk::InterruptsCountOnce)) return;
  arch::Retired counted;
  counted.branch = arch::BranchKind::Far;
  counted.taken = counted.transfer_entered = true;
  counted.load_count = counted.store_count = 1;
  counted.ip = branch.from;
  counted.next_ip = branch.to;
  counted.cpl = branch.cpl_to;
  retire(counted, arch::RegisterFile{.ip = branch.to});
}

void Pmu::Impl::retire(const arch::Retired& retired, const arch::RegisterFile& after) {
  bool store_pmi = false;
  arch::TakenBranch branch;
  const bool transfers = retired.taken && records_branches() && !retired.transfer_entered;
  if (transfers) {
    branch = {.from = retired.ip,
              .to = retired.next_ip,
              .kind = retired.branch,
              .mispredicted = retired.mispredicted,
              .cpl_from = retired.cpl,
              .cpl_to = retired.next_cpl == arch::Retired::kSameCpl ? retired.cpl : retired.next_cpl,
              .cycle = retired.branch_cycle};
    if (lbr_on_) lbr_.enter(branch);
    store_pmi = bts_on_ && stores(branch);
  }
  const Counters::Step step = ibs_.without_its_own(counters_.retire(retired));
  if (!step.nothing()) [[unlikely]] {
    take(step, retired, after);
  }
  if (ibs_.is_due() && ibs_.tag(retired)) [[unlikely]] {
    pmi_.request_ibs();
  }
  // The BTS record comes after the PEBS record of the same instruction, and its interrupt after both.
  if (store_pmi && store_.store_branch(branch, debugctl_.has(DebugCtl::btint))) request_pmi();
}

void Pmu::Impl::advance(const Elapsed& elapsed, Ring ring) { wrapped(counters_.advance(elapsed, ring)); }

void Pmu::Impl::pass(std::size_t accumulator, std::uint64_t events, Ring ring) {
  std::array<std::uint64_t, Counters::kMaxAccumulators> each{};
  const std::size_t accumulators = counters_.accumulators(ring).size();
  CHECK(accumulator < accumulators, accumulator, accumulators);
  each[accumulator] = events;
  pass(std::span<const std::uint64_t>(each).first(accumulators), ring);
}

// Without an instruction.
void Pmu::Impl::wrapped(const Counters::Step& all) {
  const Counters::Step step = ibs_.without_its_own(all);
  if (step.wrapped.empty()) return;
  counters_.set_status(step.wrapped.bits);
  pebs_.reload_wrapped(step.wrapped & counters_.arming().enabled());
  if ((step.wrapped.bits & ~counters_.arming().enabled().bits & counters_.interrupting().bits) != 0) request_pmi();
}

void Pmu::Impl::issue(const IssuedSlots& issued, Ring ring) {
  if (!counters_.control().has(arch::GlobalCtrl::metrics) || !counters_.ticks_in(kSlotsCounter, ring)) return;
  if (!metrics_.add(issued)) return;
  counters_.set_status(GlobalStatus::metrics.mask);
  if (counters_.interrupting().has(kSlotsCounter)) request_pmi();
}

void Pmu::Impl::take(const Counters::Step& step, const arch::Retired& retired, const arch::RegisterFile& after) {
  counters_.set_status(step.wrapped.bits);
  if (!step.wrapped.empty()) pmi_.overflowed(step.wrapped, retired);
  std::uint64_t overflow_pmi = step.wrapped.bits & ~counters_.arming().enabled().bits;
  bool reached_threshold = false;
  if (in_smm_ || pebs_stopped_) {
    counters_.arming().disarm(step.triggered);
    overflow_pmi |= step.triggered.bits;
  } else if (!step.triggered.empty()) {
    overflow_pmi |= pebs_.record(step.triggered, retired, after, mode_.code64, reached_threshold).bits;
  }
  overflow_pmi &= counters_.interrupting().bits;
  if (reached_threshold) request_pmi();
  if (overflow_pmi != 0) request_pmi();
}

void Pmu::Impl::request_pmi() {
  if (debugctl_.has(DebugCtl::freeze_perfmon)) {
    if (model_.counter_freeze == arch::FreezeKind::Streamlined) {
      counters_.set_status(GlobalStatus::counters_frozen.mask);
    } else {
      counters_.set_control(arch::GlobalCtrl{0});
    }
  }
  if (debugctl_.has(DebugCtl::freeze_lbrs)) {
    if (model_.lbr_freeze == arch::FreezeKind::Streamlined) {
      counters_.set_status(GlobalStatus::lbr_frozen.mask);
    } else {
      debugctl_ = debugctl_.with(DebugCtl::lbr, 0);
    }
    if (model_.quirks.has(Quirk::FreezeLbrsClearsTr)) debugctl_ = debugctl_.with(DebugCtl::tr, 0);
    choose_branches();
  }
  pmi_.request_pmi();
}

void Pmu::Impl::debug_exception() {
  DebugCtl cleared = debugctl_.with(DebugCtl::lbr, 0).with(DebugCtl::btf, 0);
  if (model_.quirks.has(Quirk::DebugExceptionClearsTr)) cleared = cleared.with(DebugCtl::tr, 0);
  set_debugctl(cleared);
  debug_exception_next_ = true;
}

void Pmu::Impl::enter_smm() {
  in_smm_ = true;
  debugctl_before_smm_ = debugctl_;
  control_before_smm_ = counters_.control();
  if (debugctl_.has(DebugCtl::freeze_in_smm)) {
    counters_.set_control(arch::GlobalCtrl{0});
    debugctl_ = debugctl_.with(DebugCtl::lbr, 0).with(DebugCtl::btf, 0).with(DebugCtl::tr, 0).with(DebugCtl::bts, 0);
  }
  choose_branches();
}

void Pmu::Impl::leave_smm() {
  if (!std::exchange(in_smm_, false)) return;
  if (debugctl_before_smm_.has(DebugCtl::freeze_in_smm)) {
    counters_.set_control(control_before_smm_);
    debugctl_ = debugctl_before_smm_;
  }
  choose_branches();
}

void Pmu::Impl::machine_check() {
  bts_stopped_ = pebs_stopped_ = true;
  choose_branches();
}

void Pmu::Impl::init() {
  in_smm_ = bts_stopped_ = debug_exception_next_ = false;
  pebs_.forget_due();
  set_pebs_enable(0);
  lbr_.set_extension({});
  set_debugctl(DebugCtl{});
  if (model_.quirks.has(Quirk::InitClearsDsArea)) store_.set_address(0);
}

void Pmu::Impl::reset(bool warm) {
  init();
  store_.set_address(0);
  counters_.reset();
  lbr_.reset(warm);
  pebs_.set_groups({});
  selectors_ = {};
  metrics_.set_value(0, 0);
  ibs_.reset();
  choose_branches();
}

Pmu::Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock)
    : Pmu(model, memory, pmi, clock, model.quirks) {}
Pmu::Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock, arch::QuirkSet quirks)
    : impl_(std::make_unique<Impl>(model, memory, pmi, clock, quirks)) {}
Pmu::~Pmu() = default;

bool Pmu::rdmsr(std::uint32_t msr, std::uint64_t& value) const { return impl_->rdmsr(msr, value); }
bool Pmu::wrmsr(std::uint32_t msr, std::uint64_t value) { return impl_->wrmsr(msr, value); }
bool Pmu::rdpmc(std::uint32_t ecx, std::uint64_t& value, RdpmcRights rights) const {
  const bool allowed = rights.cr4_pce || rights.cpl == 0 || !rights.protected_mode;
  return allowed && impl_->rdpmc(ecx, value);
}

std::span<const arch::EventMeaning> Pmu::accumulators(Ring ring) const { return impl_->counters().accumulators(ring); }
std::uint32_t Pmu::accumulators_generation(Ring ring) const { return impl_->generation(ring); }
std::optional<std::size_t> Pmu::accumulator_of(unsigned counter, Ring ring) const {
  return impl_->counters().accumulator_of(counter, ring);
}
void Pmu::let_sleep(arch::CounterSet counters) { impl_->counters().let_sleep(counters); }
Pmu::Repeating Pmu::repeating(std::size_t accumulator, Ring ring) { return impl_->repeating(accumulator, ring); }
std::uint64_t Pmu::headroom(std::size_t accumulator, Ring ring) const {
  return impl_->counters().headroom(accumulator, ring);
}
std::size_t Pmu::headrooms(std::span<std::uint64_t> room, Ring ring) const {
  const std::size_t size = accumulators(ring).size();
  for (std::size_t at = 0; at < size; ++at) room[at] = headroom(at, ring);
  return size;
}
void Pmu::count(std::size_t at, std::uint64_t events, Ring ring) { impl_->counters().count(at, events, ring); }
void Pmu::retire(const arch::Retired& retired, const arch::RegisterFile& after) { impl_->retire(retired, after); }

bool Pmu::wants_branches() const { return impl_->records_branches(); }
void Pmu::enter_branch(const arch::TakenBranch& branch) { impl_->enter_branch(branch); }
bool Pmu::stores_branches() const {
  return impl_->debugctl().has(DebugCtl::tr) && impl_->debugctl().has(DebugCtl::bts);
}

arch::LbrSelect Pmu::branch_filter() const { return impl_->branch_filter(); }
std::uint64_t Pmu::latency_threshold() const { return impl_->latency_threshold(); }
bool Pmu::records_the_overflow(unsigned counter) const { return impl_->counters().recorded_at_overflow().has(counter); }
bool Pmu::records_time(Ring ring) const { return impl_->counters().records_time(ring); }
void Pmu::await(std::uint64_t ip, std::uint32_t instructions) { impl_->counters().arming().await(ip, instructions); }
bool Pmu::record_is_due() const { return impl_->counters().arming().is_unnamed(); }
bool Pmu::needs_each() const { return impl_->needs_each(); }
std::optional<DsFault> Pmu::take_ds_fault() { return impl_->take_ds_fault(); }

void Pmu::advance(const Elapsed& elapsed, Ring ring) { impl_->advance(elapsed, ring); }
void Pmu::pass(std::size_t accumulator, std::uint64_t events, Ring ring) { impl_->pass(accumulator, events, ring); }
bool Pmu::only_adds(Ring ring) const { return !impl_->records_branches() && impl_->counters().only_adds(ring); }
std::size_t Pmu::pass(std::span<const std::uint64_t> events, Ring ring) {
  CHECK(only_adds(ring));
  const std::size_t accumulators = impl_->counters().accumulators(ring).size();
  impl_->pass(events.first(accumulators), ring);
  return accumulators;
}
void Pmu::issue(const IssuedSlots& issued, Ring ring) { impl_->issue(issued, ring); }
Elapsed Pmu::time_headroom(Ring ring) const { return impl_->counters().time_headroom(ring); }

void Pmu::set_mode(Mode mode) { impl_->set_mode(mode); }
Mode Pmu::mode() const { return impl_->mode(); }
void Pmu::set_vector_registers(VectorRegisters* registers) { impl_->set_vector_registers(registers); }
arch::QuirkSet Pmu::quirks() const { return impl_->quirks(); }
arch::DebugCtl Pmu::debugctl() const { return impl_->debugctl(); }
void Pmu::debug_exception() { impl_->debug_exception(); }
void Pmu::enter_smm() { impl_->enter_smm(); }
void Pmu::leave_smm() { impl_->leave_smm(); }
void Pmu::machine_check() { impl_->machine_check(); }
void Pmu::init() { impl_->init(); }
void Pmu::reset(bool warm) { impl_->reset(warm); }

}  // namespace zs::pmu
