#include "engine/account/steps.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "isa/condition.h"
#include "isa/line_splits.h"

namespace zs::engine {
namespace {

/// Of what nobody models.
constexpr arch::CoreSignals kNoSignals{};

}  // namespace

// report_to_core: that the instruction runs, where there is one and it is not told otherwise
void SingleSteps::begin(bool report_to_core) {
  StepInProgress& step = run_.thread->step;
  const Insn* const found = insns_.find(run_.thread->pc, run_.code->fetch(run_.thread->pc), run_.config.processor());
  if (found == nullptr) return;
  const Insn& insn = step.insn = *found;
  step.active = true;
  step.probe = probes_.at(insn);
  if (step.probe.stepped) step.before = run_.registers();
  step.rcx_before = run_.context.gpr[kRcx];
  step.sp_before = run_.context.gpr[kRsp];
  for (std::size_t i = 0; i < insn.memory_count; ++i)
    step.addresses[i] = effective_address(insn.memory[i], insn.next());
  step.reported_to_core = false;
  if (report_to_core && run_.thread->cpu.core != nullptr) core_.begin_step(step);
}

// The instruction at `pc`, which runs or has run among others, as it was when its block was made. Holds until the next
// is asked for.
const Insn& SingleSteps::insn_alone(std::uint64_t pc) {
  const Insn* const insn = insns_.find(pc, run_.code->fetch(pc), run_.config.processor());
  CHECK(insn != nullptr, pc);
  return *insn;
}

// What there is to say of it without addresses and probes.
arch::Retired SingleSteps::retired_alone(const Insn& insn) {
  arch::Retired retired;
  static_cast<arch::InsnFacts&>(retired) = insn.facts;
  retired.ip = insn.pc;
  retired.load_count = insn.facts.loads;
  retired.store_count = insn.facts.stores;
  return retired;
}

void SingleSteps::retire_alone(const Insn& insn, bool taken, std::uint64_t next, const std::uint64_t (&gprs)[16],
                               std::uint64_t flags) {
  arch::Retired retired = retired_alone(insn);
  if (run_.phased) retired.signals = &kNoSignals;
  retired.taken = taken;
  retired.next_ip = next;
  const arch::RegisterFile after = arch::register_file(gprs, flags, next);
  tally_.retire(retired, after);
  tally_.take_pmi(after);
}

// One that goes straight on.
void SingleSteps::retire_behind(std::uint64_t pc, std::uint64_t next, const std::uint64_t (&gprs)[16],
                                std::uint64_t flags) {
  if (!run_.thread->cpu.pmus.empty()) retire_alone(insn_alone(pc), false, next, gprs, flags);
}

void SingleSteps::retire_branch(std::uint64_t pc, const std::uint64_t (&gprs)[16], std::uint64_t flags) {
  const Insn& insn = insn_alone(pc);
  CHECK(insn.flow == Flow::Jump || insn.flow == Flow::ConditionalJump, pc);
  const bool taken = insn.flow != Flow::ConditionalJump || holds(insn.condition, flags);
  retire_alone(insn, taken, taken ? insn.target : insn.next(), gprs, flags);
}

std::uint64_t SingleSteps::effective_address(const MemoryOperand& operand, std::uint64_t next_pc) const {
  std::uint64_t address = static_cast<std::uint64_t>(operand.displacement);
  if (operand.rip_relative) address += next_pc;
  if (operand.base >= 0) address += run_.context.gpr[operand.base];
  if (operand.index >= 0 && !operand.vector_index) address += run_.context.gpr[operand.index] * operand.scale;
  if (operand.plus_al) address += run_.context.gpr[kRax] & 0xFF;
  if (operand.bit_register >= 0) {
    // A signed bit offset as wide as the operand, in words of its size.
    const unsigned bits = 8 * operand.bytes;
    const std::int64_t offset =
        static_cast<std::int64_t>(run_.context.gpr[operand.bit_register] << (64 - bits)) >> (64 - bits);
    address += static_cast<std::uint64_t>(offset >> std::countr_zero(bits)) * operand.bytes;
  }
  if (operand.address32) address &= UINT32_MAX;
  if (operand.fs) address += run_.context.fs_base;
  if (operand.gs) address += run_.context.gs_base;
  return address;
}

void SingleSteps::retire(bool taken) {
  StepInProgress& step = run_.thread->step;
  if (!step.active) return;
  step.active = false;
  const Insn& insn = step.insn;
  arch::CoreFeed* const core = run_.thread->cpu.core;
  if (core != nullptr && !step.reported_to_core) core_.run_step(taken, run_.thread->pc);
  arch::Retired retired;
  static_cast<arch::InsnFacts&>(retired) = insn.facts;
  retired.taken =
      insn.facts.branch != arch::BranchKind::None && (insn.facts.branch != arch::BranchKind::Conditional || taken);
  retired.ip = insn.pc;
  retired.next_ip = run_.thread->pc;
  std::uint64_t elements = 1;
  if (insn.facts.rep_string) {
    const bool count32 = insn.memory_count != 0 && insn.memory[0].address32;
    elements = step.rcx_before - run_.context.gpr[kRcx];
    if (count32) elements &= UINT32_MAX;
  }
  retired.load_count = insn.facts.loads * elements;
  retired.store_count = insn.facts.stores * elements;
  bool addressed = false;
  for (std::size_t i = 0; i < insn.memory_count; ++i) {
    const MemoryOperand& operand = insn.memory[i];
    const auto bytes = static_cast<std::uint8_t>(operand.bytes <= UINT8_MAX ? operand.bytes : 0);
    if (!addressed || (operand.read && !insn.memory[0].read)) {
      retired.data_address = step.addresses[i];
      retired.data_bytes = bytes;
      addressed = true;
    }
    if (operand.write && retired.store_address == 0) {
      retired.store_address = step.addresses[i];
      retired.store_bytes = bytes;
    }
    const bool down = (run_.context.flags & 0x400) != 0;
    const auto splits = static_cast<std::uint32_t>(
        insn.facts.rep_string ? split_elements(step.addresses[i], operand.bytes, elements, down)
                              : std::uint64_t{crosses_line(step.addresses[i], operand.bytes)});
    if (operand.read) retired.split_loads += splits;
    if (operand.write) retired.split_stores += splits;
  }
  if (core != nullptr)
    core_.add_outcome(retired);
  else if (run_.phased)
    retired.signals = &kNoSignals;
  if (core != nullptr && run_.counting.deferred && !step.probe) return core_.defer_step(retired, run_.registers());
  const Probe probe = step.probe;
  const arch::RegisterFile* const before = probe.stepped ? &step.before : nullptr;
  if (probe.time == ProbeTime::Before) {
    probes_.reached(insn.pc, before);
    if (core != nullptr) core_.advance_time();
  }
  if (run_.thread->cpu.counts_paths) exits_.add_step(retired, step);
  if (run_.thread->cpu.pmus.empty()) return;
  const arch::RegisterFile after = run_.registers();
  tally_.retire(retired, after);
  if (probe.time == ProbeTime::After) probes_.reached(insn.pc, before);
  const bool* const phase_over = run_.thread->cpu.phase_over;
  // A phase ends, and with it what its counters count.
  if (core != nullptr && !run_.counting.at_once && phase_over != nullptr && *phase_over) {
    for (const auto& thread : run_.threads) core_.settle(*thread);
  }
  tally_.take_pmi(after);
}

}  // namespace zs::engine
