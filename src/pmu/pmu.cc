// The registers' addresses, and what follows from an instruction that made a counter wrap: PEBS record, reload, status,
// freeze, PMI, in this order.
//   * A PEBS counter with INT set asks for its overflow PMI after the record, when its status bit may already be clear; a
//     threshold PMI of the same record goes first, and several counters that overflow together ask once.
//     source: SDM vol. 3B, "Performance Counter Prioritization" in the Nehalem part.
//   * A record that finds no room is skipped entirely: no reload, no status bit cleared, OvfBuf left alone. source: the
//     Sandy Bridge part on bounds checks. That the counter is disarmed by it is our choice; the manual is silent.
//   * Which counters a record serves (reload, status bit) differs by format: CpuModel::pebs_serves.
#include "pmu/pmu.h"

#include <utility>

#include "arch/cpu_model.h"
#include "arch/msr_map.h"
#include "arch/msrs.h"
#include "base/check.h"
#include "pmu/counters.h"
#include "pmu/lbr_stack.h"
#include "pmu/pebs_writer.h"

namespace zs::pmu {

using arch::CounterSet;
using arch::DebugCtl;
using arch::FixedCtrCtrl;
using arch::GlobalStatus;
using arch::Msr;
using arch::PerfEvtSel;

class Pmu::Impl {
 public:
  Impl(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock, arch::QuirkSet quirks)
      : model_(model),
        quirks_(quirks),
        pmi_(pmi),
        clock_(clock),
        counters_(model),
        lbr_(model),
        pebs_writer_(memory, model.pebs_format()) {
    CHECK(arch::is_consistent(model));
  }

  bool rdmsr(std::uint32_t address, std::uint64_t& value) const;
  bool wrmsr(std::uint32_t address, std::uint64_t value);
  bool rdpmc(std::uint32_t ecx, std::uint64_t& value) const;

  Counters& counters() { return counters_; }
  std::uint32_t generation(Ring ring);
  bool records_branches() const {
    return debugctl_.has(DebugCtl::lbr) && !counters_.status().has(GlobalStatus::lbr_frozen);
  }
  void enter_branch(const arch::TakenBranch& branch) {
    if (records_branches()) lbr_.enter(branch);
  }
  void retire(const arch::Retired& retired, const arch::RegisterFile& after);

  bool needs_each() const { return false; }
  std::optional<DsFault> take_ds_fault() { return std::exchange(ds_fault_, std::nullopt); }
  void set_mode(Mode mode) { mode_ = mode; }
  Mode mode() const { return mode_; }
  void set_vector_registers(VectorRegisters* registers) { vector_registers_ = registers; }
  arch::QuirkSet quirks() const { return quirks_; }
  DebugCtl debugctl() const { return debugctl_; }
  void debug_exception() { debugctl_ = debugctl_.with(DebugCtl::lbr, 0); }

 private:
  arch::GlobalInUse in_use() const;
  void take(const Counters::Step& step, const arch::Retired& retired, const arch::RegisterFile& after);
  CounterSet record(CounterSet triggered, const arch::Retired& retired, const arch::RegisterFile& after,
                    bool& reached_threshold);
  void reload(CounterSet counters);
  void request_pmi();

  const arch::CpuModel& model_;
  arch::QuirkSet quirks_;
  Mode mode_;
  VectorRegisters* vector_registers_ = nullptr;
  std::optional<DsFault> ds_fault_;
  PmiSink& pmi_;
  Clock& clock_;
  Counters counters_;
  LbrStack lbr_;
  PebsWriter pebs_writer_;
  std::uint64_t ds_area_ = 0;
  DebugCtl debugctl_;

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
  const bool pmi = !counters_.interrupting().empty() || !counters_.pebs().empty();
  return arch::GlobalInUse{bits}.with(arch::GlobalInUse::pmi, pmi);
}

bool Pmu::Impl::rdmsr(std::uint32_t address, std::uint64_t& value) const {
  const auto msr = arch::find_msr(model_, address);
  if (!msr) return false;
  const unsigned i = msr->index;
  switch (msr->fact->msr) {
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
    case Msr::PerfCapabilities: value = model_.capabilities.raw(); break;
    case Msr::PebsEnable: value = counters_.pebs().bits; break;
    case Msr::DsArea: value = ds_area_; break;
    case Msr::MiscEnable:
      value = arch::MiscEnable{}.with(arch::MiscEnable::monitoring, 1).with(arch::MiscEnable::no_bts, 1).raw();
      break;
    case Msr::DebugCtl: value = debugctl_.raw(); break;
    case Msr::LbrSelect: value = lbr_.select().raw(); break;
    case Msr::LbrTos: value = lbr_.tos(); break;
    case Msr::LbrFrom: value = lbr_.entry(i).from; break;
    case Msr::LbrTo: value = lbr_.entry(i).to; break;
    case Msr::LbrInfo: value = lbr_.entry(i).info; break;
  }
  return true;
}

bool Pmu::Impl::wrmsr(std::uint32_t address, std::uint64_t value) {
  const auto msr = arch::find_msr(model_, address);
  if (!msr || !arch::is_writable(model_, *msr, value)) return false;
  const unsigned i = msr->index;
  switch (msr->fact->msr) {
    case Msr::GeneralCounter: {  // bit 31 is copied into all bits above it
      const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
      counters_.set_value(i, static_cast<std::uint64_t>(std::int64_t{low}));
      break;
    }
    case Msr::FullWidthCounter: counters_.set_value(i, value); break;
    case Msr::FixedCounter: counters_.set_value(arch::kFirstFixedBit + i, value); break;
    case Msr::PerfEvtSel: counters_.set_select(i, PerfEvtSel{value}); break;
    case Msr::FixedCtrCtrl: counters_.set_fixed_control(FixedCtrCtrl{value}); break;
    case Msr::GlobalCtrl: counters_.set_control(arch::GlobalCtrl{value}); break;
    case Msr::GlobalOvfCtrl: counters_.clear_status(value); break;
    case Msr::GlobalStatusSet: counters_.set_status(value); break;
    case Msr::PebsEnable: counters_.set_pebs({value}); break;
    case Msr::DsArea: ds_area_ = value; break;
    case Msr::DebugCtl: debugctl_ = DebugCtl{value}; break;
    case Msr::LbrSelect: lbr_.set_select(arch::LbrSelect{value}); break;
    case Msr::LbrTos: lbr_.set_tos(static_cast<unsigned>(value)); break;
    case Msr::LbrFrom: lbr_.entry(i).from = value; break;
    case Msr::LbrTo: lbr_.entry(i).to = value; break;
    case Msr::LbrInfo: lbr_.entry(i).info = value; break;
    case Msr::GlobalStatus:
    case Msr::GlobalInUse:
    case Msr::PerfCapabilities:
    case Msr::MiscEnable: return false;  // read-only
  }
  return true;
}

// ECX[30] chooses the fixed counters, ECX[29:0] is the index. The fast form (ECX[31]) is NetBurst's only.
bool Pmu::Impl::rdpmc(std::uint32_t ecx, std::uint64_t& value) const {
  constexpr std::uint32_t kFast = 1U << 31, kFixed = 1U << 30;
  if ((ecx & kFast) != 0) return false;
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

void Pmu::Impl::retire(const arch::Retired& retired, const arch::RegisterFile& after) {
  if (retired.taken && !retired.transfer_entered && records_branches()) {
    lbr_.enter({.from = retired.ip,
                .to = retired.next_ip,
                .kind = retired.branch,
                .mispredicted = retired.mispredicted,
                .cpl_from = retired.cpl,
                .cpl_to = retired.next_cpl == arch::Retired::kSameCpl ? retired.cpl : retired.next_cpl});
  }
  const Counters::Step step = counters_.retire(retired);
  if (!step.nothing()) [[unlikely]] {
    take(step, retired, after);
  }
}

void Pmu::Impl::take(const Counters::Step& step, const arch::Retired& retired, const arch::RegisterFile& after) {
  counters_.set_status(step.wrapped.bits);
  std::uint64_t overflow_pmi = step.wrapped.bits & ~counters_.pebs().bits;
  bool reached_threshold = false;
  if (!step.triggered.empty()) overflow_pmi |= record(step.triggered, retired, after, reached_threshold).bits;
  overflow_pmi &= counters_.interrupting().bits;
  if (reached_threshold) request_pmi();
  if (overflow_pmi != 0) request_pmi();
}

/// One PEBS assist. Returns the counters it has served.
CounterSet Pmu::Impl::record(CounterSet triggered, const arch::Retired& retired, const arch::RegisterFile& after,
                             bool& reached_threshold) {
  const arch::PebsFormat format = model_.pebs_format();
  arch::PebsV3 record{};
  arch::PebsV1& v1 = record.v2.v1;
  v1.v0.registers = after;
  v1.status = format >= arch::PebsFormat::V3 ? triggered.bits : counters_.status().raw();
  if (counters_.any_has_address(triggered)) v1.data_address = retired.data_address;
  record.v2.eventing_ip = retired.ip;
  if (format >= arch::PebsFormat::V3) record.tsc = clock_.tsc();

  const PebsWriter::Outcome outcome = pebs_writer_.write(ds_area_, record);
  CounterSet served = triggered;
  if (outcome != PebsWriter::Outcome::Dropped) {
    if (model_.pebs_serves == arch::PebsServes::Overflowed) served = served | counters_.armed();
    reload(served);
    counters_.clear_status(served.bits);
  }
  counters_.disarm(served);
  if (outcome == PebsWriter::Outcome::ReachedThreshold) {
    counters_.set_status(GlobalStatus::buffer.mask);
    reached_threshold = true;
  }
  return served;
}

void Pmu::Impl::reload(CounterSet counters) {
  for (CounterSet rest = counters; !rest.empty(); rest.bits &= rest.bits - 1) {
    const unsigned counter = rest.first();
    if (const auto value = pebs_writer_.reset_value(ds_area_, counter)) counters_.set_value(counter, *value);
  }
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
  }
  pmi_.request_pmi();
}

Pmu::Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock)
    : Pmu(model, memory, pmi, clock, model.quirks) {}
Pmu::Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock, arch::QuirkSet quirks)
    : impl_(std::make_unique<Impl>(model, memory, pmi, clock, quirks)) {}
Pmu::~Pmu() = default;

bool Pmu::rdmsr(std::uint32_t msr, std::uint64_t& value) const { return impl_->rdmsr(msr, value); }
bool Pmu::wrmsr(std::uint32_t msr, std::uint64_t value) { return impl_->wrmsr(msr, value); }
bool Pmu::rdpmc(std::uint32_t ecx, std::uint64_t& value) const { return impl_->rdpmc(ecx, value); }
bool Pmu::rdpmc(std::uint32_t ecx, std::uint64_t& value, RdpmcRights rights) const {
  const bool allowed = rights.cr4_pce || rights.cpl == 0 || !rights.protected_mode;
  return allowed && impl_->rdpmc(ecx, value);
}

std::span<const arch::EventMeaning> Pmu::lanes(Ring ring) const { return impl_->counters().lanes(ring); }
std::uint32_t Pmu::lanes_generation(Ring ring) const { return impl_->generation(ring); }
std::uint64_t Pmu::headroom(std::size_t lane, Ring ring) const { return impl_->counters().headroom(lane, ring); }
void Pmu::count(std::size_t lane, std::uint64_t events, Ring ring) { impl_->counters().count(lane, events, ring); }
void Pmu::retire(const arch::Retired& retired, const arch::RegisterFile& after) { impl_->retire(retired, after); }

bool Pmu::wants_branches() const { return impl_->records_branches(); }
void Pmu::enter_branch(const arch::TakenBranch& branch) { impl_->enter_branch(branch); }
bool Pmu::needs_each() const { return impl_->needs_each(); }
std::optional<DsFault> Pmu::take_ds_fault() { return impl_->take_ds_fault(); }

void Pmu::advance(const Elapsed&, Ring) {}
Elapsed Pmu::time_headroom(Ring) const {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  return {kNever, kNever, kNever};
}

void Pmu::set_mode(Mode mode) { impl_->set_mode(mode); }
Mode Pmu::mode() const { return impl_->mode(); }
void Pmu::set_vector_registers(VectorRegisters* registers) { impl_->set_vector_registers(registers); }
arch::QuirkSet Pmu::quirks() const { return impl_->quirks(); }
arch::DebugCtl Pmu::debugctl() const { return impl_->debugctl(); }
void Pmu::debug_exception() { impl_->debug_exception(); }
void Pmu::enter_smm() {}
void Pmu::leave_smm() {}
void Pmu::machine_check() {}
void Pmu::init() {}
void Pmu::reset(bool) {}

}  // namespace zs::pmu
