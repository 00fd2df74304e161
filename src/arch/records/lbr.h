// How a branch lies in the LBR registers: the formats of IA32_PERF_CAPABILITIES.LBR_FMT.
// source: SDM vol. 3B, "LBR Stack", "Figure 64-bit Address Layout of LBR MSR", "LBR Stack and Intel 64 Processors";
// format 6: "LBR Stack" of Goldmont; architectural records: "Architectural Last Branch Records". AMD's: APM vol. 2,
// "Last Branch Stack"; which bits are flags, as Linux reads them (arch/x86/events/amd/lbr.c).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "arch/msrs.h"
#include "arch/retired.h"

namespace zs::arch {

enum class LbrFormat : std::uint8_t {
  Linear32 = 0,  // 32-bit offsets
  Linear = 1,    // linear addresses, no flags
  Offset = 2,    // offsets in the code segment, no flags
  Flags = 3,     // FROM[63] mispredicted; address sign-extended into 62:48
  TsxFlags = 4,  // FROM[63] mispredicted, [62] in a transaction, [61] its abort; address sign-extended into 60:48
  Info = 5,      // plain addresses; flags and cycles in MSR_LBR_INFO_x
  Cycles = 6,    // as Flags, and TO[63:48] holds the cycles
  LinearInfo = 7,
  Architectural = 0x3F,  // IA32_LBR_x: plain addresses; flags, cycles and type in IA32_LBR_x_INFO
  Amd = 0x40,            // no LBR_FMT: FROM[63] mispredicted; TO[63] valid, [62] speculative; addresses sign-extended
};

/// Formats with an INFO register to each record.
constexpr bool has_info(LbrFormat format) {
  return format == LbrFormat::Info || format == LbrFormat::LinearInfo || format == LbrFormat::Architectural;
}

inline constexpr std::uint64_t kLbrMispredicted = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kLbrInTx = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kLbrTxAbort = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kLbrValid = std::uint64_t{1} << 63;        // of AMD's TO
inline constexpr std::uint64_t kLbrSpeculative = std::uint64_t{1} << 62;  // likewise
inline constexpr std::uint64_t kLbrToCycles = std::uint64_t{0xFFFF} << 48;

/// The bits of a FROM register that are flags and no part of the address.
constexpr std::uint64_t lbr_from_flags(LbrFormat format) {
  switch (format) {
    case LbrFormat::Flags:
    case LbrFormat::Cycles:
    case LbrFormat::Amd: return kLbrMispredicted;
    case LbrFormat::TsxFlags: return kLbrMispredicted | kLbrInTx | kLbrTxAbort;
    case LbrFormat::Linear32:
    case LbrFormat::Linear:
    case LbrFormat::Offset:
    case LbrFormat::Info:
    case LbrFormat::LinearInfo:
    case LbrFormat::Architectural: return 0;
  }
  return 0;  // an unknown format: all address
}

/// Likewise of a TO register.
constexpr std::uint64_t lbr_to_flags(LbrFormat format) {
  constexpr std::uint64_t kReserved = std::uint64_t{1} << 61;
  if (format == LbrFormat::Amd) return kLbrValid | kLbrSpeculative | kReserved;
  return format == LbrFormat::Cycles ? kLbrToCycles : 0;
}

/// Of AMD's TO register; Unknown: nothing was recorded there.
constexpr BranchSpeculation lbr_speculation(std::uint64_t to) {
  const bool valid = (to & kLbrValid) != 0, speculative = (to & kLbrSpeculative) != 0;
  if (valid) return speculative ? BranchSpeculation::SpeculativeCorrect : BranchSpeculation::NonSpeculative;
  return speculative ? BranchSpeculation::WrongPath : BranchSpeculation::Unknown;
}

/// The address with its sign extension over `flags` again.
constexpr std::uint64_t lbr_without(std::uint64_t flags, std::uint64_t value) {
  return (value >> 47 & 1) != 0 ? value | flags : value & ~flags;
}
/// FROM and TO without what is no address.
constexpr std::uint64_t lbr_from_address(LbrFormat format, std::uint64_t from) {
  return lbr_without(lbr_from_flags(format), from);
}
constexpr std::uint64_t lbr_to_address(LbrFormat format, std::uint64_t to) {
  return lbr_without(lbr_to_flags(format), to);
}

/// A kind of branch in the terms of the registers.
struct LbrBranch {
  BranchKind kind = BranchKind::None;
  std::uint64_t left_out = 0;  // MSR_LBR_SELECT: a 1 leaves these out
  std::uint64_t let_in = 0;    // IA32_LBR_CTL: a 1 lets these in
  std::uint64_t type = 0;      // BR_TYPE of an architectural record
};

/// In the order of BranchKind. Far is what they call FAR_BRANCH and OTHER_BRANCH, type 1xxxB.
/// source: types: "IA32_LBR_x_INFO MSR", table of branch types.
inline constexpr LbrBranch kLbrBranches[] = {
    {BranchKind::Conditional, LbrSelect::conditional.mask, LbrCtl::conditional.mask, 0},
    {BranchKind::RelativeJump, LbrSelect::relative_jump.mask, LbrCtl::relative_jump.mask, 2},
    {BranchKind::IndirectJump, LbrSelect::indirect_jump.mask, LbrCtl::indirect_jump.mask, 1},
    {BranchKind::RelativeCall, LbrSelect::relative_call.mask, LbrCtl::relative_call.mask, 4},
    {BranchKind::IndirectCall, LbrSelect::indirect_call.mask, LbrCtl::indirect_call.mask, 3},
    {BranchKind::Return, LbrSelect::near_return.mask, LbrCtl::near_return.mask, 5},
    {BranchKind::Far, LbrSelect::far_branch.mask, LbrCtl::other.mask, 8},
};

/// The row of a kind; None has one of its own. A copy: with UBSan, g++ 12 takes no comparison of a row's address for a
/// constant.
constexpr LbrBranch lbr_branch(BranchKind kind) {
  const auto row = static_cast<std::size_t>(kind) - 1;
  return row < std::size(kLbrBranches) ? kLbrBranches[row] : LbrBranch{};
}
static_assert(std::ranges::all_of(kLbrBranches, [](const LbrBranch& row) {
  return &row - std::begin(kLbrBranches) == static_cast<std::ptrdiff_t>(row.kind) - 1;
}));

/// Whether MSR_LBR_SELECT takes branches of this kind.
constexpr bool lets_through(LbrSelect select, BranchKind kind) {
  return kind != BranchKind::None && (select.raw() & lbr_branch(kind).left_out) == 0;
}

/// Whether IA32_LBR_CTL does.
constexpr bool lets_through(LbrCtl control, BranchKind kind) { return (control.raw() & lbr_branch(kind).let_in) != 0; }

/// The IA32_LBR_CTL that records what this MSR_LBR_SELECT does, without the enable.
constexpr LbrCtl lbr_ctl_of(LbrSelect select) {
  std::uint64_t kinds = 0;
  for (const LbrBranch& branch : kLbrBranches) kinds |= lets_through(select, branch.kind) ? branch.let_in : 0;
  return LbrCtl{kinds}
      .with(LbrCtl::kernel, !select.has(LbrSelect::to_kernel))
      .with(LbrCtl::user, !select.has(LbrSelect::to_user))
      .with(LbrCtl::call_stack, select.has(LbrSelect::call_stack));
}
/// And the MSR_LBR_SELECT that does what this IA32_LBR_CTL does.
constexpr LbrSelect lbr_select_of(LbrCtl control) {
  std::uint64_t kinds = 0;
  for (const LbrBranch& branch : kLbrBranches) kinds |= lets_through(control, branch.kind) ? 0 : branch.left_out;
  return LbrSelect{kinds}
      .with(LbrSelect::to_kernel, !control.has(LbrCtl::kernel))
      .with(LbrSelect::to_user, !control.has(LbrCtl::user))
      .with(LbrSelect::call_stack, control.has(LbrCtl::call_stack));
}
static_assert(lbr_select_of(lbr_ctl_of(LbrSelect{0x2C5})) == LbrSelect{0x2C5});
static_assert(lbr_ctl_of(LbrSelect{0x2C5}).raw() == 0x78'000C);

/// BR_TYPE of an architectural record.
constexpr std::uint64_t lbr_branch_type(BranchKind kind) {
  return lbr_branch(kind != BranchKind::None ? kind : BranchKind::Far).type;
}

}  // namespace zs::arch
