// Near control transfers: Jcc, JMP, CALL, RET, LOOP and its kin. A target outside CS or not canonical faults on the
// branch, before it changed anything. In the record: imm is the displacement, disp the mask that the operand size puts
// on ip.
#include "machine/vcpu/conditions.h"
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

inline void go(Core& c, U64 target) {
  if (target - c.target_first > c.target_span) [[unlikely]]
    raise_gp();
  c.next_ip = target;
}
inline void go_relative(Core& c, const Insn& i) { go(c, (c.next_ip + i.imm) & i.disp); }

template <unsigned Code>
struct Jcc {
  static void run(Core& c, const Insn& i) {
    if (!holds<Code>(c.status)) return;
    go_relative(c, i);
    c.taken = true;
  }
};

void jmp(Core& c, const Insn& i) { go_relative(c, i); }

/// `jmp $`: the monitor is told after it retired.
void jmp_to_itself(Core& c, const Insn& i) {
  go_relative(c, i);
  c.stop = Stop{StopKind::JumpToItself, (c.system_flags & flag::interrupt) != 0, c.facade.linear_ip(), ""};
  c.stopping = true;
  c.arm();
}

template <typename T>
void call_relative(Core& c, const Insn& i) {
  const U64 back = c.next_ip;
  const U64 target = (back + i.imm) & i.disp;
  if (target - c.target_first > c.target_span) raise_gp();
  c.push<T>(static_cast<T>(back));
  c.next_ip = target;
}

template <typename T>
void jump_indirect(Core& c, const Insn& i) {
  go(c, read_operand<T>(c, i, i.dst, i.to_memory));
}

template <typename T>
void call_indirect(Core& c, const Insn& i) {
  const U64 target = read_operand<T>(c, i, i.dst, i.to_memory);
  if (target - c.target_first > c.target_span) raise_gp();
  c.push<T>(static_cast<T>(c.next_ip));
  c.next_ip = target;
}

template <typename T>
void return_near(Core& c, const Insn& i) {
  go(c, c.top_of_stack<T>());
  c.set_stack_pointer(c.regs[kRsp] + sizeof(T) + i.imm);
}

/// LOOP, LOOPE, LOOPNE by detail 0, 1, 2; the count has the width of the address size.
void loop(Core& c, const Insn& i) {
  const U64 count = (c.regs[kRcx] - 1) << i.address_shift >> i.address_shift;
  const bool zero = (c.status & status::zf) != 0;
  const bool jumps = count != 0 && (i.detail == 0 || (i.detail == 1) == zero);
  if (jumps) {
    go_relative(c, i);
    c.taken = true;
  }
  if (i.address_shift == 48) c.set_reg<U16>(8 * kRcx, static_cast<U16>(count));
  if (i.address_shift != 48) c.regs[kRcx] = count;
}

void jcxz(Core& c, const Insn& i) {
  if (c.regs[kRcx] << i.address_shift != 0) return;
  go_relative(c, i);
  c.taken = true;
}

U64 ip_mask_for(const Decoded& d) {
  const unsigned bytes = d.long64() ? 8 : d.operand_bytes();
  return bytes == 8 ? ~U64{0} : bytes == 4 ? 0xFFFFFFFF : 0xFFFF;
}

/// By the width of near branches' targets.
template <typename Pick>
Handler near_sized(const Decoded& d, Pick pick) {
  return by_width(d.long64() ? 8 : d.operand_bytes(), pick);
}

void lower_jmp(Decoded& d) {
  if (d.raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return lower_far_jump(d);
  if (d.is_immediate(0)) {
    d.insn.disp = ip_mask_for(d);
    d.insn.run = d.insn.imm + d.raw.length == 0 ? jmp_to_itself : jmp;
    return;
  }
  d.insn.run = near_sized(d, [](auto t) -> Handler { return jump_indirect<decltype(t)>; });
}

void lower_call(Decoded& d) {
  if (d.raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return lower_far_call(d);
  if (d.is_immediate(0)) {
    d.insn.disp = ip_mask_for(d);
    d.insn.run = near_sized(d, [](auto t) -> Handler { return call_relative<decltype(t)>; });
    return;
  }
  d.insn.run = near_sized(d, [](auto t) -> Handler { return call_indirect<decltype(t)>; });
}

void lower_ret(Decoded& d) {
  if (d.raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return lower_far_return(d);
  d.insn.run = near_sized(d, [](auto t) -> Handler { return return_near<decltype(t)>; });
}

template <Handler Run, std::uint8_t Detail>
void lower_counted(Decoded& d) {
  d.insn.disp = ip_mask_for(d);
  d.insn.detail = Detail;
  d.insn.address_shift = static_cast<std::uint8_t>(64 - d.raw.address_width);
  d.insn.run = Run;
}

// clang-format off
constexpr LowerRow kBranchRows[] = {
    {ZYDIS_MNEMONIC_JMP, lower_jmp},  {ZYDIS_MNEMONIC_CALL, lower_call}, {ZYDIS_MNEMONIC_RET, lower_ret},
    {ZYDIS_MNEMONIC_LOOP, lower_counted<loop, 0>},   {ZYDIS_MNEMONIC_LOOPE, lower_counted<loop, 1>},
    {ZYDIS_MNEMONIC_LOOPNE, lower_counted<loop, 2>}, {ZYDIS_MNEMONIC_JCXZ, lower_counted<jcxz, 0>},
    {ZYDIS_MNEMONIC_JECXZ, lower_counted<jcxz, 0>},  {ZYDIS_MNEMONIC_JRCXZ, lower_counted<jcxz, 0>},
};
// clang-format on

}  // namespace

void lower_jcc(Decoded& d) {
  d.insn.disp = ip_mask_for(d);
  d.insn.run = by_condition<Jcc>(d.raw.opcode);
}

std::span<const LowerRow> branch_rows() { return kBranchRows; }

}  // namespace zs::machine::vcpu
