// How a branch lies in the LBR registers: the formats of IA32_PERF_CAPABILITIES.LBR_FMT.
// source: SDM vol. 3B, "LBR Stack", "Figure 64-bit Address Layout of LBR MSR", "LBR Stack and Intel 64 Processors"; format
// 6: "LBR Stack" of Goldmont; architectural records: "Architectural Last Branch Records".
#pragma once

#include <cstdint>

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
};

/// Formats with an INFO register to each record.
constexpr bool has_info(LbrFormat format) {
  return format == LbrFormat::Info || format == LbrFormat::LinearInfo || format == LbrFormat::Architectural;
}

inline constexpr std::uint64_t kLbrMispredicted = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kLbrInTx = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kLbrTxAbort = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kLbrToCycles = std::uint64_t{0xFFFF} << 48;

/// The bits of a FROM register that are flags and no part of the address.
constexpr std::uint64_t lbr_from_flags(LbrFormat format) {
  switch (format) {
    case LbrFormat::Flags:
    case LbrFormat::Cycles: return kLbrMispredicted;
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
constexpr std::uint64_t lbr_to_flags(LbrFormat format) { return format == LbrFormat::Cycles ? kLbrToCycles : 0; }

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

/// Whether MSR_LBR_SELECT takes branches of this kind. Far is what it calls FAR_BRANCH.
constexpr bool lets_through(LbrSelect select, BranchKind kind) {
  switch (kind) {
    case BranchKind::Conditional: return !select.has(LbrSelect::conditional);
    case BranchKind::RelativeCall: return !select.has(LbrSelect::relative_call);
    case BranchKind::IndirectCall: return !select.has(LbrSelect::indirect_call);
    case BranchKind::Return: return !select.has(LbrSelect::near_return);
    case BranchKind::IndirectJump: return !select.has(LbrSelect::indirect_jump);
    case BranchKind::RelativeJump: return !select.has(LbrSelect::relative_jump);
    case BranchKind::Far: return !select.has(LbrSelect::far_branch);
    case BranchKind::None: return false;
  }
  return false;
}

/// Whether IA32_LBR_CTL does: there a 1 enables.
constexpr bool lets_through(LbrCtl control, BranchKind kind) {
  switch (kind) {
    case BranchKind::Conditional: return control.has(LbrCtl::conditional);
    case BranchKind::RelativeCall: return control.has(LbrCtl::relative_call);
    case BranchKind::IndirectCall: return control.has(LbrCtl::indirect_call);
    case BranchKind::Return: return control.has(LbrCtl::near_return);
    case BranchKind::IndirectJump: return control.has(LbrCtl::indirect_jump);
    case BranchKind::RelativeJump: return control.has(LbrCtl::relative_jump);
    case BranchKind::Far: return control.has(LbrCtl::other);
    case BranchKind::None: return false;
  }
  return false;
}

/// The IA32_LBR_CTL that records what this MSR_LBR_SELECT does, without the enable.
constexpr LbrCtl lbr_ctl_of(LbrSelect select) {
  return LbrCtl{}
      .with(LbrCtl::kernel, !select.has(LbrSelect::to_kernel))
      .with(LbrCtl::user, !select.has(LbrSelect::to_user))
      .with(LbrCtl::call_stack, select.has(LbrSelect::call_stack))
      .with(LbrCtl::conditional, lets_through(select, BranchKind::Conditional))
      .with(LbrCtl::relative_jump, lets_through(select, BranchKind::RelativeJump))
      .with(LbrCtl::indirect_jump, lets_through(select, BranchKind::IndirectJump))
      .with(LbrCtl::relative_call, lets_through(select, BranchKind::RelativeCall))
      .with(LbrCtl::indirect_call, lets_through(select, BranchKind::IndirectCall))
      .with(LbrCtl::near_return, lets_through(select, BranchKind::Return))
      .with(LbrCtl::other, lets_through(select, BranchKind::Far));
}
/// And the MSR_LBR_SELECT that does what this IA32_LBR_CTL does.
constexpr LbrSelect lbr_select_of(LbrCtl control) {
  return LbrSelect{}
      .with(LbrSelect::to_kernel, !control.has(LbrCtl::kernel))
      .with(LbrSelect::to_user, !control.has(LbrCtl::user))
      .with(LbrSelect::call_stack, control.has(LbrCtl::call_stack))
      .with(LbrSelect::conditional, !lets_through(control, BranchKind::Conditional))
      .with(LbrSelect::relative_jump, !lets_through(control, BranchKind::RelativeJump))
      .with(LbrSelect::indirect_jump, !lets_through(control, BranchKind::IndirectJump))
      .with(LbrSelect::relative_call, !lets_through(control, BranchKind::RelativeCall))
      .with(LbrSelect::indirect_call, !lets_through(control, BranchKind::IndirectCall))
      .with(LbrSelect::near_return, !lets_through(control, BranchKind::Return))
      .with(LbrSelect::far_branch, !lets_through(control, BranchKind::Far));
}
static_assert(lbr_select_of(lbr_ctl_of(LbrSelect{0x2C5})) == LbrSelect{0x2C5});

/// BR_TYPE of an architectural record.
/// source: "IA32_LBR_x_INFO MSR", table of branch types; OTHER_BRANCH is 1xxxB there.
constexpr std::uint64_t lbr_branch_type(BranchKind kind) {
  switch (kind) {
    case BranchKind::Conditional: return 0;
    case BranchKind::IndirectJump: return 1;
    case BranchKind::RelativeJump: return 2;
    case BranchKind::IndirectCall: return 3;
    case BranchKind::RelativeCall: return 4;
    case BranchKind::Return: return 5;
    case BranchKind::None:
    case BranchKind::Far: return 8;
  }
  return 8;
}

}  // namespace zs::arch
