// In call-stack mode a return flushes the newest entry "from the on-chip registers in a last-in first-out (LIFO) manner"
// (SDM vol. 3B, call stack profiling of Haswell). Flushed entries read 0 here, so a reader that stops at the first
// empty one has seen every call that is still open.
#include "pmu/lbr_stack.h"

namespace zs::pmu {

using arch::BranchKind;
using arch::LbrSelect;

namespace {

constexpr std::uint32_t bit(BranchKind kind) { return 1U << static_cast<unsigned>(kind); }

/// What LBR_SELECT lets through, by bit of BranchKind.
std::uint32_t wanted(LbrSelect select) {
  std::uint32_t kinds = 0;
  const auto unless = [&](auto suppressed, BranchKind kind) {
    if (!select.has(suppressed)) kinds |= bit(kind);
  };
  unless(LbrSelect::conditional, BranchKind::Conditional);
  unless(LbrSelect::relative_call, BranchKind::RelativeCall);
  unless(LbrSelect::indirect_call, BranchKind::IndirectCall);
  unless(LbrSelect::near_return, BranchKind::Return);
  unless(LbrSelect::indirect_jump, BranchKind::IndirectJump);
  unless(LbrSelect::relative_jump, BranchKind::RelativeJump);
  unless(LbrSelect::far_branch, BranchKind::Far);
  return kinds;
}

}  // namespace

LbrStack::LbrStack(const arch::CpuModel& model)
    : format_(model.lbr_format()), last_(model.lbr_entries - 1U), wanted_(wanted(LbrSelect{})) {}

void LbrStack::set_select(LbrSelect select) {
  select_ = select;
  wanted_ = wanted(select);
  to_kernel_ = !select.has(LbrSelect::to_kernel);
  to_user_ = !select.has(LbrSelect::to_user);
  call_stack_ = select.has(LbrSelect::call_stack);
}

void LbrStack::enter(const arch::TakenBranch& branch) {
  if ((wanted_ & bit(branch.kind)) == 0) return;
  if (!(branch.cpl_to == 0 ? to_kernel_ : to_user_)) return;
  if (call_stack_ && branch.kind == BranchKind::Return) {
    entries_[tos_] = {};
    tos_ = (tos_ - 1) & last_;
    return;
  }
  tos_ = (tos_ + 1) & last_;
  const std::uint64_t mispredicted = branch.mispredicted ? arch::kLbrMispredicted : 0;
  Entry& entry = entries_[tos_];
  entry.to = branch.to;
  if (format_ == arch::LbrFormat::Info) {
    entry.from = branch.from;
    entry.info = mispredicted;
  } else {
    entry.from = (branch.from & ~arch::lbr_from_flags(format_)) | mispredicted;
  }
}

}  // namespace zs::pmu
