// What the PMU counts of an instruction, known from its bytes alone: branch kind, memory operands, floating-point
// class.
// There are few distinct kinds, so each is a row of Core::facts and an instruction names its row; the tally of a
// million instructions is one number a row.
#include "isa/zydis_decode.h"
#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {
namespace {

using arch::BranchKind;

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
  row.branch = isa::branch_kind(raw, operands);
  isa::classify_fp(raw, operands, row);
  row.nop = raw.mnemonic == ZYDIS_MNEMONIC_NOP;
  row.prefetch = raw.meta.category == ZYDIS_CATEGORY_PREFETCH;
  row.fence = counts_as_fence(raw.mnemonic);
  if (!isa::accesses_nothing(raw)) {
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
