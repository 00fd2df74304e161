// What the PMU counts of an instruction, known from its bytes alone: branch kind, memory operands, floating-point
// class.
// There are few distinct kinds, so each is a row of Core::facts and an instruction names its row; the tally of a
// million instructions is one number a row.
// source: SDM vol. 3B, performance-monitoring events: FP_ARITH_INST_RETIRED counts ADD SUB HADD HSUB ADDSUB MUL DIV MIN
// MAX SQRT RCP RSQRT once.
#include <algorithm>
#include <array>
#include <string_view>

#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {
namespace {

using arch::BranchKind;
using arch::FpArith;

FpArith fp_of(std::string_view name) {
  if (name.size() < 5) return FpArith::None;
  const std::string_view suffix = name.substr(name.size() - 2), stem = name.substr(0, name.size() - 2);
  static constexpr std::string_view counted[] = {"add",  "sub",  "mul",  "div",    "min", "max",
                                                 "sqrt", "hadd", "hsub", "addsub", "rcp", "rsqrt"};
  if (std::find(std::begin(counted), std::end(counted), stem) == std::end(counted)) return FpArith::None;
  if (suffix == "sd") return FpArith::ScalarDouble;
  if (suffix == "ss") return FpArith::ScalarSingle;
  if (suffix == "pd") return FpArith::Packed128Double;
  return suffix == "ps" ? FpArith::Packed128Single : FpArith::None;
}

FpArith fp_class(ZydisMnemonic mnemonic) {
  static const auto table = [] {
    std::array<FpArith, ZYDIS_MNEMONIC_MAX_VALUE + 1> made{};
    for (unsigned n = 0; n < made.size(); ++n) {
      if (const char* name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(n))) made[n] = fp_of(name);
    }
    return made;
  }();
  return table[mnemonic];
}

BranchKind branch_kind(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  const bool far_form = raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  const bool immediate = raw.operand_count_visible > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      if (far_form) return BranchKind::Far;
      return immediate ? BranchKind::RelativeJump : BranchKind::IndirectJump;
    case ZYDIS_MNEMONIC_CALL:
      if (far_form) return BranchKind::Far;
      return immediate ? BranchKind::RelativeCall : BranchKind::IndirectCall;
    case ZYDIS_MNEMONIC_RET: return far_form ? BranchKind::Far : BranchKind::Return;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_SYSEXIT: return BranchKind::Far;
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE: return BranchKind::Conditional;
    default: return raw.meta.category == ZYDIS_CATEGORY_COND_BR ? BranchKind::Conditional : BranchKind::None;
  }
}

/// Those that some processors count as a store: arch/quirks.h, fence-stores.
bool counts_as_fence(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_SFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_CLFLUSH: return true;
    default: return false;
  }
}

bool accesses_nothing(const ZydisDecodedInstruction& raw) {
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH: return true;
    default: break;
  }
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_NOP: return true;
    default: return false;
  }
}

std::uint64_t key_of(const arch::Retired& f) {
  return static_cast<std::uint64_t>(f.branch) | static_cast<std::uint64_t>(f.fp) << 8 |
         static_cast<std::uint64_t>(f.loads) << 16 | static_cast<std::uint64_t>(f.stores) << 24 |
         static_cast<std::uint64_t>(f.nop) << 32 | static_cast<std::uint64_t>(f.prefetch) << 34 |
         static_cast<std::uint64_t>(f.locked) << 33 | static_cast<std::uint64_t>(f.fp_weight) << 40 |
         static_cast<std::uint64_t>(f.fence) << 48;
}

}  // namespace

std::uint16_t intern_facts(Core& core, const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  arch::Retired row;
  row.branch = branch_kind(raw, operands);
  row.fp = fp_class(raw.mnemonic);
  row.fp_weight = row.fp == FpArith::None ? 0 : 1;
  row.nop = raw.mnemonic == ZYDIS_MNEMONIC_NOP;
  row.prefetch = raw.meta.category == ZYDIS_CATEGORY_PREFETCH;
  row.fence = counts_as_fence(raw.mnemonic);
  if (!accesses_nothing(raw)) {
    for (unsigned n = 0; n < raw.operand_count; ++n) {
      const ZydisDecodedOperand& operand = operands[n];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
      const bool saves = raw.mnemonic == ZYDIS_MNEMONIC_FXSAVE || raw.mnemonic == ZYDIS_MNEMONIC_FXSAVE64;
      const bool restores = raw.mnemonic == ZYDIS_MNEMONIC_FXRSTOR || raw.mnemonic == ZYDIS_MNEMONIC_FXRSTOR64;
      if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 && !saves) ++row.loads;
      if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 && !restores) ++row.stores;
    }
  }
  row.locked = (raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || (raw.mnemonic == ZYDIS_MNEMONIC_XCHG && row.loads != 0);
  row.rep_string = (raw.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  if (row.rep_string) {
    // Known only when it ran; the row's number says how many loads and stores an element has.
    const auto key = std::uint64_t{1} << 63 | key_of(row);
    const auto [found, is_new] = core.fact_rows.try_emplace(key, static_cast<std::uint16_t>(core.facts.size()));
    if (is_new) core.facts.insert(core.facts.end(), 2, row), core.tally.resize(core.facts.size());
    return found->second;
  }
  row.load_count = row.loads;
  row.store_count = row.stores;
  row.taken = row.branch != BranchKind::None && row.branch != BranchKind::Conditional;
  const auto [found, is_new] = core.fact_rows.try_emplace(key_of(row), static_cast<std::uint16_t>(core.facts.size()));
  if (is_new) {
    core.facts.push_back(row);
    row.taken = row.branch != BranchKind::None;
    core.facts.push_back(row);
    core.tally.resize(core.facts.size());
  }
  return found->second;
}

}  // namespace zs::machine::vcpu
