#include "engine/translate/line_watch.h"

#include "arch/core_feed.h"
#include "arch/this_processor.h"
#include "engine/translate/code_space.h"

namespace zs::engine {
namespace {

bool is_watched(const Insn& insn) {
  if (insn.memory_count == 0 || insn.flow != Flow::Plain || insn.facts.rep_string || insn.fs || insn.gs) return false;
  const MemoryOperand& operand = insn.memory[0];
  const bool by_stack = operand.base == kRsp && operand.index < 0;
  const bool plain = !operand.vector_index && !operand.address32 && !operand.plus_al && operand.bit_register < 0 &&
                     !operand.rip_relative && !operand.fs && !operand.gs && operand.base >= 0;
  constexpr std::int64_t kMost = INT32_MAX - arch::LineSample::kShift;
  return plain && !by_stack && operand.displacement <= kMost && operand.displacement >= INT32_MIN;
}

/// lea reg, [operand + more]
/// source: SDM vol. 2, tables 2-2 and 2-3
void emit_address(Emitter& out, Gpr reg, const MemoryOperand& operand, std::uint32_t more, const StandIn& stand_in) {
  const auto base = static_cast<unsigned>(stand_in.of(operand.base));
  const unsigned index = operand.index < 0 ? unsigned{kRsp} : static_cast<unsigned>(stand_in.of(operand.index));
  const unsigned scale = operand.index < 0 || operand.scale <= 1 ? 0U
                         : operand.scale == 2                    ? 1U
                         : operand.scale == 4                    ? 2U
                                                                 : 3U;
  const bool wide_index = operand.index >= 0 && index >= 8;
  out.code({0x48U | (wide_index ? 2U : 0U) | (base >= 8 ? 1U : 0U), 0x8D, 0x84U | static_cast<unsigned>(reg) << 3,
            scale << 6 | (index & 7U) << 3 | (base & 7U)});
  out.u32(static_cast<std::uint32_t>(operand.displacement) + more);
}

}  // namespace

bool can_watch_lines() {
  constexpr unsigned kBmi2 = 1U << 8;
  return (arch::leaf_here(7).ebx & kBmi2) != 0;
}

void LineWatch::emit(const Insn& insn, const StandIn& stand_in, Emitter& out, Emitter& cold) {
  if (!is_watched(insn)) return;
  const MemoryOperand& operand = insn.memory[0];
  out.store(offsetof(Context, watch_rcx), kRcx);
  emit_address(out, kRcx, operand, arch::LineSample::kShift, stand_in);
  out.extract_bits_of_rcx(offsetof(Context, watch_mask));
  out.jrcxz(out.here() + 4);
  out.code({0xEB, 5});  // jmp, over the next one
  out.jmp(cold.here());
  const std::uint64_t back = out.here();
  out.load(kRcx, offsetof(Context, watch_rcx));

  cold.need(CodeSpace::kMostPerStep);
  cold.load(kRcx, offsetof(Context, watch_rcx));
  cold.store(offsetof(Context, watch_rax), kRax);
  emit_address(cold, kRax, operand, 0, stand_in);
  cold.mov_imm(kRcx, arch::LineSample::kFirstBit);
  cold.shift_rax_right_by_rcx();
  cold.load(kRcx, offsetof(Context, probe_note));
  cold.code({0x48, 0x89, 0x01});  // mov [rcx], rax
  cold.add_disp(kRcx, sizeof(std::uint64_t));
  cold.store(offsetof(Context, probe_note), kRcx);
  cold.load(kRax, offsetof(Context, watch_rax));
  cold.jmp(back);
}

}  // namespace zs::engine
