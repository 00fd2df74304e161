// Far JMP, CALL and RET with call gates, every IRET, INT n and its kin, SYSCALL SYSRET SYSENTER SYSEXIT.
// source: SDM vol. 2, "Operation" of each; vol. 3A, "Accessing a Code Segment Through a Call Gate".
#include "arch/linear.h"
#include "machine/vcpu/frame.h"
#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

U64 truncate(U64 value, unsigned bytes) { return bytes == 8 ? value : value & ((U64{1} << (8 * bytes)) - 1); }

/// The instruction pointer a transfer loads must lie in the segment, or be canonical.
void check_target(const Core& c, const Segment& cs, U64 ip) {
  const bool to64 = c.long_mode && cs.long_code();
  if (to64 ? !arch::is_canonical(ip) : ip > cs.limit) raise_gp();
}

/// A code segment that a direct JMP or CALL may name.
Segment direct_code(Core& c, Core::Descriptor& d, U16 selector) {
  if ((d.type() & 8) == 0) selector_fault(kGeneralProtection, selector);
  const bool conforming = (d.type() & 4) != 0;
  if (conforming ? d.dpl() > c.cpl : ((selector & 3u) > c.cpl || d.dpl() != c.cpl))
    selector_fault(kGeneralProtection, selector);
  Segment cs = d.segment(selector);
  if (c.long_mode && cs.long_code() && cs.big()) selector_fault(kGeneralProtection, selector);
  if (!d.present()) selector_fault(kNotPresent, selector);
  cs.selector = static_cast<U16>((selector & 0xFFFC) | c.cpl);
  return cs;
}

struct Gate {
  Segment cs;
  U64 ip = 0;
  unsigned slot = 4, parameters = 0, level = 0;
  Core::Descriptor code;
};

/// A call gate's own rights, then those of the code it leads to. `jump`: no change of ring.
Gate read_gate(Core& c, Core::Descriptor& d, U16 selector, bool jump) {
  if (d.dpl() < c.cpl || d.dpl() < (selector & 3u)) selector_fault(kGeneralProtection, selector);
  if (!d.present()) selector_fault(kNotPresent, selector);
  Gate gate;
  const auto target = static_cast<U16>(d.low >> 16);
  gate.ip = (d.low & 0xFFFF) | (d.low >> 32 & 0xFFFF0000);
  gate.slot = c.long_mode ? 8 : d.type() == 12 ? 4 : 2;
  if (gate.slot == 2) gate.ip &= 0xFFFF;
  if (!c.long_mode) gate.parameters = static_cast<unsigned>(d.low >> 32 & 31);
  if (c.long_mode) {
    c.read_upper_half(d, selector);
    gate.ip |= (d.high & 0xFFFFFFFF) << 32;
  }
  if ((target & 0xFFFC) == 0) raise_gp();
  gate.code = c.read_descriptor(target);
  const unsigned type = gate.code.type();
  if (!gate.code.code_or_data() || (type & 8) == 0 || gate.code.dpl() > c.cpl)
    selector_fault(kGeneralProtection, target);
  const bool conforming = (type & 4) != 0;
  if (jump && !conforming && gate.code.dpl() != c.cpl) selector_fault(kGeneralProtection, target);
  gate.cs = gate.code.segment(target);
  if (c.long_mode && (!gate.cs.long_code() || gate.cs.big())) selector_fault(kGeneralProtection, target);
  if (!gate.code.present()) selector_fault(kNotPresent, target);
  gate.level = conforming ? c.cpl : gate.code.dpl();
  gate.cs.selector = static_cast<U16>((target & 0xFFFC) | gate.level);
  return gate;
}

bool is_call_gate(const Core& c, const Core::Descriptor& d) {
  return d.type() == 12 || (d.type() == 4 && !c.long_mode);
}

void real_jump(Core& c, U16 selector, U64 ip) {
  if (ip > c.segments[kCs].limit) raise_gp();
  c.set_real_segment(kCs, selector);
  c.next_ip = ip;
  c.refresh_mode();
}

void far_jump(Core& c, U16 selector, U64 ip) {
  if (c.real_addressing()) return real_jump(c, selector, ip);
  if ((selector & 0xFFFC) == 0) raise_gp();
  Core::Descriptor d = c.read_descriptor(selector);
  if (d.code_or_data()) {
    const Segment cs = direct_code(c, d, selector);
    check_target(c, cs, ip);
    c.set_accessed(d);
    c.set_code_segment(cs, c.cpl);
    c.next_ip = ip;
    return;
  }
  if (!is_call_gate(c, d)) return c.enter_task(d, selector, Core::TaskSwitch::Jump);
  Gate gate = read_gate(c, d, selector, true);
  check_target(c, gate.cs, gate.ip);
  c.set_accessed(gate.code);
  gate.cs.selector = static_cast<U16>((gate.cs.selector & 0xFFFC) | c.cpl);
  c.set_code_segment(gate.cs, c.cpl);
  c.next_ip = gate.ip;
}

void far_call(Core& c, U16 selector, U64 ip, unsigned slot) {
  const U64 back = c.next_ip;
  const Segment& old_cs = c.segments[kCs];
  if (c.real_addressing()) {
    Frame frame(c, c.segments[kSs], c.regs[kRsp], slot, c.virtual8086, false, 0);
    frame.push(old_cs.selector);
    frame.push(back);
    frame.check();
    if (ip > old_cs.limit) raise_gp();
    c.regs[kRsp] = frame.write(c.regs[kRsp]);
    return real_jump(c, selector, ip);
  }
  if ((selector & 0xFFFC) == 0) raise_gp();
  Core::Descriptor d = c.read_descriptor(selector);
  if (d.code_or_data()) {
    const Segment cs = direct_code(c, d, selector);
    Frame frame(c, c.segments[kSs], c.regs[kRsp], slot, c.cpl == 3, c.code64, 0);
    frame.push(old_cs.selector);
    frame.push(back);
    frame.check();
    check_target(c, cs, ip);
    c.set_accessed(d);
    c.regs[kRsp] = frame.write(c.regs[kRsp]);
    c.set_code_segment(cs, c.cpl);
    c.next_ip = ip;
    return;
  }
  if (!is_call_gate(c, d)) return c.enter_task(d, selector, Core::TaskSwitch::Call);
  Gate gate = read_gate(c, d, selector, false);
  const bool inward = gate.level < c.cpl;
  Segment ss = c.segments[kSs];
  U64 sp = c.regs[kRsp];
  if (inward && c.long_mode) {
    sp = c.tss_stack64(4 + 8 * gate.level, false);
    ss = null_segment(static_cast<U16>(gate.level), gate.level);
  } else if (inward) {
    U16 stack_selector = 0;
    sp = c.tss_stack(gate.level, stack_selector, false);
    ss = c.checked_stack_segment(stack_selector, gate.level, kInvalidTss, false);
  }
  const bool wide = c.long_mode && (inward || c.code64 || gate.slot == 8);
  Frame frame(c, ss, sp, gate.slot, gate.level == 3, wide, inward ? ss.selector & 0xFFFCu : 0);
  if (inward) {
    frame.push(c.segments[kSs].selector);
    frame.push(c.regs[kRsp]);
    std::array<U64, 32> parameters{};
    for (unsigned n = 0; n < gate.parameters; ++n) {
      const U64 at = (c.regs[kRsp] + n * gate.slot) & c.stack_mask;
      parameters[n] = gate.slot == 4 ? c.load<U32>(kSs, at) : c.load<U16>(kSs, at);
    }
    for (unsigned n = gate.parameters; n > 0; --n) frame.push(parameters[n - 1]);
  }
  frame.push(old_cs.selector);
  frame.push(back);
  frame.check();
  check_target(c, gate.cs, gate.ip);
  c.set_accessed(gate.code);
  c.regs[kRsp] = frame.write(c.regs[kRsp]);
  if (inward) c.segments[kSs] = ss;
  c.set_code_segment(gate.cs, gate.level);
  c.next_ip = gate.ip;
}

/// The stack that RET and IRET return to in an outer ring, or anywhere in 64-bit mode.
Segment return_stack(Core& c, U16 selector, unsigned level, bool to64) {
  if ((selector & 0xFFFC) == 0) {
    if (!to64 || level == 3 || (selector & 3u) != level) raise_gp();
    return null_segment(selector, level);
  }
  return c.checked_stack_segment(selector, level, kGeneralProtection, false);
}

/// The code segment a return goes to: never inwards.
Segment return_code(Core& c, U16 selector, Core::Descriptor& d) {
  if ((selector & 0xFFFC) == 0) raise_gp();
  const unsigned level = selector & 3u;
  d = c.read_descriptor(selector);
  const bool code = d.code_or_data() && (d.type() & 8) != 0, conforming = (d.type() & 4) != 0;
  if (!code || level < c.cpl || (conforming ? d.dpl() > level : d.dpl() != level))
    selector_fault(kGeneralProtection, selector);
  Segment cs = d.segment(selector);
  if (c.long_mode && cs.long_code() && cs.big()) selector_fault(kGeneralProtection, selector);
  if (!d.present()) selector_fault(kNotPresent, selector);
  return cs;
}

/// Value `n` from the top of the stack, or of what lies `above` that many bytes.
U64 stack_slot(Core& c, unsigned n, unsigned slot, U64 above = 0) {
  const U64 at = (c.regs[kRsp] + above + n * slot) & c.stack_mask;
  if (slot == 8) return c.load<U64>(kSs, at);
  return slot == 4 ? c.load<U32>(kSs, at) : c.load<U16>(kSs, at);
}

void set_outer_stack(Core& c, const Segment& ss, U64 sp, bool to64) {
  c.segments[kSs] = ss;
  const U64 mask = to64 ? ~U64{0} : ss.big() ? 0xFFFFFFFF : 0xFFFF;
  c.regs[kRsp] = mask == 0xFFFF ? (c.regs[kRsp] & ~mask) | (sp & mask) : sp & mask;
}

/// How many values of how many bytes a return takes from the stack, before those of an outer ring's stack; what it
/// releases besides, on both; and whether it takes the stack pointer from there whatever the ring.
struct Popped {
  unsigned popped = 0, slot = 0;
  U64 release = 0;
  bool stack_too = false;
};

void return_to(Core& c, U16 selector, U64 ip, const Popped& from) {
  const U64 sp_after = c.regs[kRsp] + from.popped * from.slot + from.release;
  if (c.real_addressing()) {
    if (ip > c.segments[kCs].limit) raise_gp();
    c.set_stack_pointer(sp_after);
    return real_jump(c, selector, ip);
  }
  Core::Descriptor d;
  const Segment cs = return_code(c, selector, d);
  const unsigned level = selector & 3u, old_cpl = c.cpl;
  if (level == old_cpl && !from.stack_too) {
    check_target(c, cs, ip);
    c.set_accessed(d);
    c.set_stack_pointer(sp_after);
  } else {
    const U64 sp = stack_slot(c, from.popped, from.slot, from.release);
    const auto ss_selector = static_cast<U16>(stack_slot(c, from.popped + 1, from.slot, from.release));
    const bool to64 = c.long_mode && cs.long_code();
    const Segment ss = return_stack(c, ss_selector, level, to64);
    check_target(c, cs, ip);
    c.set_accessed(d);
    set_outer_stack(c, ss, sp + from.release, to64);
  }
  c.set_code_segment(cs, level);
  if (level != old_cpl) c.drop_inaccessible_segments();
  c.next_ip = ip;
}

void far_return(Core& c, const Insn& i) {
  const unsigned slot = i.bytes;
  const U64 ip = stack_slot(c, 0, slot);
  const auto selector = static_cast<U16>(stack_slot(c, 1, slot));
  return_to(c, selector, ip, {.popped = 2, .slot = slot, .release = i.imm});
}

// ---- IRET

/// Flags that IRET may change at the current privilege. IRET leaves NMI blocking behind.
void return_flags(Core& c, U64 image, unsigned slot, unsigned old_cpl) {
  U64 mask = flag::arithmetic | flag::tf | flag::df | flag::nt;
  if (slot >= 4) mask |= flag::rf | flag::ac | flag::id;
  if (old_cpl <= c.iopl()) mask |= flag::interrupt;
  if (old_cpl == 0) mask |= flag::iopl | (slot >= 4 && c.protected_mode ? flag::vif | flag::vip : 0);
  c.nmi_blocked = false;
  c.write_flags(image, mask);
  c.arm();
}

/// The stack has EIP, CS, EFLAGS, ESP, SS, ES, DS, FS, GS.
void iret_to_virtual8086(Core& c, U64 ip, U64 flags) {
  const U64 sp = stack_slot(c, 3, 4);
  std::array<U16, 6> selectors{};
  constexpr unsigned kOrder[] = {kSs, kEs, kDs, kFs, kGs};
  selectors[kCs] = static_cast<U16>(stack_slot(c, 1, 4));
  for (unsigned n = 0; n < std::size(kOrder); ++n) selectors[kOrder[n]] = static_cast<U16>(stack_slot(c, 4 + n, 4));
  if (ip > 0xFFFF) raise_gp();
  for (unsigned seg = 0; seg < selectors.size(); ++seg) c.segments[seg] = virtual8086_segment(selectors[seg]);
  c.regs[kRsp] = sp;
  c.next_ip = ip;
  return_flags(c, flags, 4, 0);
  c.system_flags |= flag::vm;
  c.set_level(3);
  c.refresh_mode();
}

void iret(Core& c, const Insn& i) {
  const unsigned slot = i.bytes;
  c.require_iopl_in_virtual8086();
  if (!c.real_addressing() && (c.system_flags & flag::nt) != 0) {
    if (c.long_mode) raise_gp();
    return c.leave_task();
  }
  const U64 ip = stack_slot(c, 0, slot);
  const auto selector = static_cast<U16>(stack_slot(c, 1, slot));
  const U64 flags = stack_slot(c, 2, slot);
  const bool to_virtual8086 = slot == 4 && !c.long_mode && (flags & flag::vm) != 0 && c.cpl == 0;
  if (to_virtual8086 && !c.real_addressing()) return iret_to_virtual8086(c, ip, flags);
  const unsigned old_cpl = c.cpl;
  return_to(c, selector, ip, {.popped = 3, .slot = slot, .release = 0, .stack_too = c.code64});
  return_flags(c, flags, slot, old_cpl);
}

// ---- INT n and its kin

void software_interrupt(Core& c, const Insn& i) {
  c.require_iopl_in_virtual8086();
  c.deliver(static_cast<std::uint8_t>(i.imm), false, 0, Core::Origin::Software, c.next_ip);
}
void int3(Core& c, const Insn&) { c.deliver(kBreakpoint, false, 0, Core::Origin::Software, c.next_ip); }
/// ICEBP ignores the gate's DPL and tells DR6 nothing but what MOV SS in front of it held back: there is one #DB.
void int1(Core& c, const Insn&) {
  c.flush_reports();
  c.observer.debug_exception();
  c.watch_stale = true;
  if (c.pending_dr6 != 0) c.note_debug_cause(0);
  c.deliver(kDebug, false, 0, Core::Origin::Icebp, c.next_ip);
  c.arm();
}
void into(Core& c, const Insn&) {
  if ((c.status & status::of) == 0) return;
  c.taken = true;
  c.deliver(kOverflow, false, 0, Core::Origin::Software, c.next_ip);
}

template <typename T>
void bound(Core& c, const Insn& i) {
  using S = std::make_signed_t<T>;
  const U64 address = c.effective_address(i);
  const auto index = static_cast<S>(c.reg<T>(i.dst));
  const auto low = static_cast<S>(c.load<T>(i.segment, address));
  const auto high = static_cast<S>(c.load<T>(i.segment, (address + sizeof(T)) << i.address_shift >> i.address_shift));
  if (index < low || index > high) throw Fault{kBoundRange, false, 0};
}

// ---- fast system calls

constexpr U16 kFlat64Code = 0xA09B, kFlat32Code = 0xC09B, kFlatData = 0xC093;

Segment flat(U64 selector, U16 attributes, unsigned level) {
  Segment s;
  s.selector = static_cast<U16>((selector & 0xFFFC) | level);
  s.attributes = static_cast<U16>(attributes | level << 5);
  s.limit = 0xFFFFFFFF;
  return s;
}

/// Of SYSCALL and SYSRET it is TF after the instruction that decides about a single step.
/// source: SDM vol. 3B, "Single-Step Exception Condition"; AMD64 manual vol. 2, "SYSCALL and SYSRET".
void step_as_left(Core& c) {
  c.swallow_trap = true;
  if ((c.system_flags & flag::tf) != 0) c.pending_dr6 |= 1u << 14;
  c.arm();
}

void syscall(Core& c, const Insn&) {
  const bool allowed = c.code64 || (c.long_mode && c.is_amd());
  if (!allowed || (c.efer & efer::sce) == 0) raise_ud();
  const U64 target = c.code64 ? c.lstar : c.cstar;
  c.regs[kRcx] = c.next_ip;
  c.regs[11] = c.rflags() & ~flag::rf;
  c.write_flags(c.rflags() & ~c.fmask, ~U64{0} & ~flag::vm & ~flag::rf);
  const U64 selector = c.star >> 32;
  c.segments[kSs] = flat(selector + 8, kFlatData, 0);
  c.set_code_segment(flat(selector, kFlat64Code, 0), 0);
  c.next_ip = target;
  step_as_left(c);
}

void sysret(Core& c, const Insn& i) {
  if (!c.code64 || (c.efer & efer::sce) == 0) raise_ud();
  if (c.cpl != 0) raise_gp();
  const bool to64 = i.bytes == 8;
  const U64 selector = c.star >> 48;
  const U64 ip = to64 ? c.regs[kRcx] : c.reg<U32>(8 * kRcx);
  if (to64 && !arch::is_canonical(ip)) raise_gp();
  const U64 flags = (c.regs[11] & 0x3C7FD7) | 2;
  c.segments[kSs] = flat((selector + 8) | 3, kFlatData, 3);
  c.set_code_segment(flat((to64 ? selector + 16 : selector) | 3, to64 ? kFlat64Code : kFlat32Code, 3), 3);
  c.next_ip = ip;
  c.write_flags(flags, ~flag::vm & ~flag::rf);
  step_as_left(c);
}

void sysenter(Core& c, const Insn&) {
  if (!c.protected_mode || (c.sysenter_cs & 0xFFFC) == 0) raise_gp();
  const U64 ip = c.long_mode ? c.sysenter_eip : c.sysenter_eip & 0xFFFFFFFF;
  c.write_flags(0, flag::interrupt | flag::rf | flag::vm);
  c.segments[kSs] = flat(c.sysenter_cs + 8, kFlatData, 0);
  c.set_code_segment(flat(c.sysenter_cs, c.long_mode ? kFlat64Code : kFlat32Code, 0), 0);
  c.regs[kRsp] = c.long_mode ? c.sysenter_esp : c.sysenter_esp & 0xFFFFFFFF;
  c.next_ip = ip;
  c.arm();
}

void sysexit(Core& c, const Insn& i) {
  if (!c.protected_mode || (c.sysenter_cs & 0xFFFC) == 0 || c.cpl != 0) raise_gp();
  const bool to64 = i.bytes == 8;
  if (to64 && (!arch::is_canonical(c.regs[kRdx]) || !arch::is_canonical(c.regs[kRcx]))) raise_gp();
  const U64 ip = to64 ? c.regs[kRdx] : c.reg<U32>(8 * kRdx), sp = to64 ? c.regs[kRcx] : c.reg<U32>(8 * kRcx);
  const U64 selector = c.sysenter_cs + (to64 ? 32 : 16);
  c.segments[kSs] = flat((selector + 8) | 3, kFlatData, 3);
  c.set_code_segment(flat(selector | 3, to64 ? kFlat64Code : kFlat32Code, 3), 3);
  c.regs[kRsp] = sp;
  c.next_ip = ip;
  c.arm();
}

// ---- lowering: a far pointer is an immediate (selector, imm) or in memory

template <bool Call>
void far_immediate(Core& c, const Insn& i) {
  Call ? far_call(c, i.selector, i.imm, i.bytes) : far_jump(c, i.selector, i.imm);
}
template <bool Call>
void far_memory(Core& c, const Insn& i) {
  const U64 address = c.effective_address(i);
  const U64 second = (address + i.bytes) << i.address_shift >> i.address_shift;
  const U64 ip = i.bytes == 8   ? c.load<U64>(i.segment, address)
                 : i.bytes == 4 ? c.load<U32>(i.segment, address)
                                : c.load<U16>(i.segment, address);
  const auto selector = c.load<U16>(i.segment, second);
  Call ? far_call(c, selector, ip, i.bytes) : far_jump(c, selector, ip);
}

template <bool Call>
void lower_far(Decoded& d) {
  if (d.is_memory(0)) {
    d.insn.run = far_memory<Call>;
    return;
  }
  d.insn.selector = d.operand(0).ptr.segment;
  d.insn.imm = truncate(d.operand(0).ptr.offset, d.operand_bytes());
  d.insn.run = far_immediate<Call>;
}

void lower_bound(Decoded& d) { d.insn.run = d.bytes(0) == 4 ? bound<U32> : bound<U16>; }

constexpr LowerRow kFarRows[] = {
    {ZYDIS_MNEMONIC_INT, plain<software_interrupt>},
    {ZYDIS_MNEMONIC_INT3, plain<int3>},
    {ZYDIS_MNEMONIC_INT1, plain<int1>},
    {ZYDIS_MNEMONIC_INTO, plain<into>},
    {ZYDIS_MNEMONIC_BOUND, lower_bound},
    {ZYDIS_MNEMONIC_IRET, plain<iret>},
    {ZYDIS_MNEMONIC_IRETD, plain<iret>},
    {ZYDIS_MNEMONIC_IRETQ, plain<iret>},
    {ZYDIS_MNEMONIC_SYSCALL, plain<syscall>},
    {ZYDIS_MNEMONIC_SYSRET, plain<sysret>},
    {ZYDIS_MNEMONIC_SYSENTER, plain<sysenter>},
    {ZYDIS_MNEMONIC_SYSEXIT, plain<sysexit>},
};

}  // namespace

void lower_far_jump(Decoded& d) { lower_far<false>(d); }
void lower_far_call(Decoded& d) { lower_far<true>(d); }
void lower_far_return(Decoded& d) { plain<far_return>(d); }

std::span<const LowerRow> far_rows() { return kFarRows; }

}  // namespace zs::machine::vcpu
