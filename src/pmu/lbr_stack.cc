// In call-stack mode a return flushes the newest entry "from the on-chip registers in a last-in first-out (LIFO)
// manner" (SDM vol. 3B, call stack profiling of Haswell). Flushed entries read 0 here, so a reader that stops at the
// first empty one has seen every call that is still open.
#include "pmu/lbr_stack.h"

#include <algorithm>
#include <utility>

namespace zs::pmu {

using arch::BranchKind;
using arch::LbrCtl;
using arch::LbrFormat;
using arch::LbrInfo;
using arch::LbrKind;
using arch::LbrSelect;

namespace {

constexpr std::uint32_t mask_of(BranchKind kind) { return 1U << static_cast<unsigned>(kind); }

/// What MSR_LBR_SELECT or IA32_LBR_CTL lets through, by bit of BranchKind.
template <typename Filter>
std::uint32_t wanted(Filter filter) {
  std::uint32_t kinds = 0;
  for (unsigned kind = 0; kind <= static_cast<unsigned>(BranchKind::Far); ++kind) {
    if (arch::lets_through(filter, static_cast<BranchKind>(kind))) kinds |= mask_of(static_cast<BranchKind>(kind));
  }
  return kinds;
}

}  // namespace

LbrStack::LbrStack(const arch::CpuModel& model, Clock& clock)
    : kind_(model.lbr_kind),
      format_(model.lbr_format()),
      newest_first_(arch::lbr_registers(model).newest_first),
      has_info_(arch::has_info(format_)),
      timed_((has_info_ || format_ == LbrFormat::Cycles) && clock.has_core_cycles()),
      plain_info_(kind_ != LbrKind::Architectural && !timed_),
      from_flags_(arch::lbr_from_flags(format_)),
      clock_(clock),
      deepest_(model.lbr_entries),
      mask_(model.lbr_entries - 1U) {
  reset(false);
}

void LbrStack::reset(bool warm) {
  if (!warm) {
    entries_ = {};
    last_exception_ = {};
    tos_ = 0;
    mask_ = deepest_ - 1;
  }
  set_select(LbrSelect{});
  if (kind_ == LbrKind::Architectural) set_control(LbrCtl{});
}

bool LbrStack::enabled(arch::DebugCtl debugctl) const {
  switch (kind_) {
    case LbrKind::Small:
    case LbrKind::Stack: return debugctl.has(arch::DebugCtl::lbr);
    case LbrKind::Architectural: return control_.has(LbrCtl::enable);
    case LbrKind::Amd: return extension_.has(arch::DbgExtnCfg::lbr_stack);
    case LbrKind::None: break;
  }
  return false;
}

void LbrStack::set_select(LbrSelect select) {
  select_ = select;
  wanted_ = wanted(select);
  to_kernel_ = !select.has(LbrSelect::to_kernel);
  to_user_ = !select.has(LbrSelect::to_user);
  call_stack_ = select.has(LbrSelect::call_stack);
}

void LbrStack::set_control(LbrCtl control) {
  control_ = control;
  wanted_ = wanted(control);
  to_kernel_ = control.has(LbrCtl::kernel);
  to_user_ = control.has(LbrCtl::user);
  call_stack_ = control.has(LbrCtl::call_stack);
}

void LbrStack::set_depth(unsigned depth) {
  mask_ = depth - 1;
  entries_ = {};
  tos_ = 0;
}

std::uint64_t LbrStack::cycles_since_last(const arch::TakenBranch& branch) {
  if (!is_timed(branch)) return 0;
  const std::uint64_t now = branch.cycle != 0 ? branch.cycle : clock_.core_cycles();
  const std::uint64_t before = std::exchange(last_cycles_, now);
  return now > before ? std::min(now - before, LbrInfo::cycles.max) : 0;
}

std::uint64_t LbrStack::info(const arch::TakenBranch& branch) {
  const std::uint64_t info = (branch.mispredicted ? arch::kLbrMispredicted : 0) | cycles_since_last(branch);
  if (kind_ != LbrKind::Architectural) return info;
  return LbrInfo{info}
      .with(LbrInfo::cycles_valid, is_timed(branch) ? 1 : 0)
      .with(LbrInfo::type, arch::lbr_branch_type(branch.kind))
      .raw();
}

void LbrStack::enter(const arch::TakenBranch& branch) {
  if ((wanted_ & mask_of(branch.kind)) == 0) return;
  if (!(branch.cpl_to == 0 ? to_kernel_ : to_user_)) return;
  if (call_stack_ && branch.kind == BranchKind::Return) {
    entries_[tos_] = {};
    tos_ = (tos_ - 1) & mask_;
    return;
  }
  tos_ = (tos_ + 1) & mask_;
  Entry& entry = entries_[tos_];
  entry.to = branch.to;
  if (has_info_) [[likely]] {
    entry.from = branch.from;
    const bool plain = plain_info_ && branch.cycle == 0;
    entry.info = plain ? (branch.mispredicted ? arch::kLbrMispredicted : 0) : info(branch);
    return;
  }
  entry.from = branch.from;
  if (from_flags_ != 0) entry.from = (branch.from & ~from_flags_) | (branch.mispredicted ? arch::kLbrMispredicted : 0);
  if (format_ == LbrFormat::Amd) entry.to = (branch.to & ~arch::lbr_to_flags(LbrFormat::Amd)) | arch::kLbrValid;
  if (format_ == LbrFormat::Cycles) entry.to = (branch.to & ~arch::kLbrToCycles) | cycles_since_last(branch) << 48;
}

}  // namespace zs::pmu
