// Instructions that move CS or look at descriptors, with tables, gates, stacks and code anywhere in the linear address
// space, in every mode: far JMP, CALL and RET, call gates, IRET, LAR, LSL, VERR, VERW; and in real mode INT, IRET and
// far transfers. One instruction runs, and where it arrived, what it pushed or which fault it raised is compared with a
// reference that is written from the manual's operation sections. A fault must leave every register as it was.
// source: SDM vol. 2, "Operation" of JMP, CALL, RET, IRET, LAR, LSL, VERR/VERW, INT n.
#include <optional>

#include "machine/vcpu/placed_structures.h"

namespace zs::machine {
namespace {

/// One instruction, without what happens between instructions.
void step(Vcpu& cpu) {
  vcpu::Core& c = cpu.core();
  const vcpu::Insn* insn = c.fetch(c.scratch.data());
  c.next_ip = (c.regs[vcpu::kIp] + insn->length) & c.ip_mask;
  insn->run(c, *insn);
  c.regs[vcpu::kIp] = c.next_ip;
}

using Bytes = std::vector<unsigned>;

constexpr U64 kLow32 = 0xFFFFFFFF, kLow16 = 0xFFFF;
constexpr U64 kArithmetic = 0x8D5, kTf = 1 << 8, kIf = 1 << 9, kDf = 1 << 10, kIopl = 3 << 12, kNt = 1 << 14,
              kRf = 1 << 16, kVm = 1 << 17, kAc = 1 << 18, kVif = 1 << 19, kVip = 1 << 20, kId = 1 << 21;

/// Where a transfer arrives, and what it pushed on the way, the last one at sp.
struct Arrived {
  U16 cs = 0, ss = 0;
  U64 ip = 0, sp = 0, flags = 0;
  std::vector<U64> pushed;
  unsigned slot = 0;
  bool outwards = false;
};

/// The prefixes that give an instruction of this mode its operand size; a far pointer in memory is at [EBX] or [RBX].
Bytes sized(Env env, unsigned bytes, Bytes code, bool memory = false) {
  Bytes all;
  if (memory && env == Env::Compat16) all.push_back(0x67);
  if ((bytes == 2) != (env == Env::Compat16)) all.push_back(0x66);
  if (bytes == 8) all.push_back(0x48);
  all.insert(all.end(), code.begin(), code.end());
  return all;
}

unsigned random_size(Placed& m) {
  constexpr unsigned kSizes[] = {4, 2, 8};
  return kSizes[m.pick(m.env == Env::Long64 ? 3 : 2)];
}

/// Code in a page of its own, where the mode's instruction pointer reaches, and RBX at data in another.
struct Ready {
  U64 code, data;
};
Ready place_code(Placed& m, const Bytes& bytes, unsigned level) {
  const auto page = [&](U64 mask) {
    const U64 at = (m.code_is_64() ? m.canonical() : m.random() & mask) & ~U64{4095};
    m.map(at, true);
    return at + m.pick(4000);
  };
  Ready ready{page(m.env == Env::Compat16 ? kLow16 : kLow32), page(kLow32)};
  for (std::size_t n = 0; n < bytes.size(); ++n) m.set(ready.code + n, 1, bytes[n]);
  CpuState state = m.cpu->state();
  state.rip = ready.code;
  state.gpr[kRbx] = ready.data;
  state.rflags = 2 | (m.random() & (kArithmetic | kDf | kAc | kId | kIf)) | (level == 3 ? m.pick(4) << 12 : 0);
  // A data segment of ring 0 does not survive a way outwards, conforming code does.
  if (level == 0) state.segments[kEs] = TestMachine::flat(0x50, 0xC093);
  state.segments[kFs] = TestMachine::flat(0x58, 0xC09F);
  m.cpu->set_state(state);
  return ready;
}

struct FarRef : Tables {
  static constexpr U64 kFlat = 0x000F'0000'0000'FFFF | U64{1} << 55;

  CpuState before() const { return m.cpu->state(); }
  U64 stack_mask() const { return code64() ? ~U64{0} : kLow32; }

  /// The new instruction pointer lies in its segment, or is canonical.
  Outcome target(const Desc& d, U64 ip) const {
    const bool to64 = m.ia32e() && d.l();
    return (to64 ? arch::is_canonical(ip) : ip <= d.last()) ? Outcome{} : fault(kGp, 0);
  }
  bool two_widths(const Desc& d) const { return m.ia32e() && d.l() && d.d(); }

  Outcome direct(bool call, U16 selector, const Desc& d, U64 ip, unsigned slot, U64 next, Arrived& a) const {
    const unsigned error = selector & 0xFFFC;
    if (two_widths(d)) return fault(kGp, error);
    if (d.conforming() ? d.dpl() > cpl : rpl(selector) > cpl || d.dpl() != cpl) return fault(kGp, error);
    if (!d.present()) return fault(kNp, error);
    arrive(a, static_cast<U16>((selector & ~3) | cpl), ip);
    if (call) push_return(a, slot, next, 0, nullptr);
    return target(d, ip);
  }

  void arrive(Arrived& a, U16 cs, U64 ip) const {
    const CpuState state = before();
    a.cs = cs;
    a.ip = ip;
    a.ss = state.segments[kSs].selector;
    a.sp = state.gpr[kRsp];
  }
  /// parameters  so many, where the stack is a new one: what lies on the old; `wide` is its mask
  void push_return(Arrived& a, unsigned slot, U64 next, unsigned parameters, const CpuState* old) const {
    a.slot = slot;
    if (old != nullptr) {
      a.pushed = {old->segments[kSs].selector, old->gpr[kRsp]};
      for (unsigned n = parameters; n-- > 0;)
        a.pushed.push_back(m.get((old->gpr[kRsp] + n * slot) & stack_mask(), slot));
    }
    a.pushed.push_back(before().segments[kCs].selector);
    a.pushed.push_back(next);
    a.sp -= a.pushed.size() * slot;
  }

  /// A stack of an inner ring out of the TSS.
  Outcome inner_stack(unsigned level, Arrived& a) const {
    if (m.ia32e()) {
      a.sp = m.get(s.tss + 4 + 8 * level, 8);
      a.ss = static_cast<U16>(level);
      return {};
    }
    a.sp = m.get(s.tss + 4 + 8 * level, 4);
    a.ss = static_cast<U16>(m.get(s.tss + 8 + 8 * level, 2));
    const unsigned error = a.ss & 0xFFFCu;
    if (null(a.ss)) return fault(kTs, 0);
    const Desc d = look(a.ss);
    if (!d.there || rpl(a.ss) != level || d.dpl() != level || !d.writable()) return fault(kTs, error);
    if (!d.present()) return fault(kSf, error);
    if ((d.type() & 4) != 0) return fault(kSf, error);  // expand-down with a limit of 4 GiB holds nothing
    if (!d.d()) a.sp &= kLow16;
    return {};
  }

  Outcome through_gate(bool call, U16 selector, const Desc& gate, U64 next, Arrived& a) const {
    const unsigned gate_error = selector & 0xFFFC;
    if (gate.dpl() < cpl || gate.dpl() < rpl(selector)) return fault(kGp, gate_error);
    if (!gate.present()) return fault(kNp, gate_error);
    U64 ip = (gate.low & kLow16) | (gate.low >> 48 << 16);
    if (gate.type() == 4) ip &= kLow16;
    if (m.ia32e()) {
      if ((selector & 0xFFF8u) + 15 > limit(selector)) return fault(kGp, gate_error);
      const U64 high = m.get(gate.at + 8, 8);
      if ((high >> 40 & 31) != 0) return fault(kGp, gate_error);
      ip |= (high & kLow32) << 32;
    }
    const auto code = static_cast<U16>(gate.low >> 16);
    const unsigned error = code & 0xFFFC;
    if (null(code)) return fault(kGp, 0);
    const Desc d = look(code);
    if (!d.there || !d.code() || d.dpl() > cpl) return fault(kGp, error);
    if (!call && !d.conforming() && d.dpl() != cpl) return fault(kGp, error);
    if (m.ia32e() && (!d.l() || d.d())) return fault(kGp, error);
    if (!d.present()) return fault(kNp, error);
    const unsigned level = d.conforming() ? cpl : d.dpl();
    const CpuState state = before();
    arrive(a, static_cast<U16>((code & ~3) | level), ip);
    if (call) {
      const bool inwards = level < cpl;
      if (inwards) {
        if (const Outcome outcome = inner_stack(level, a); outcome.faults) return outcome;
      }
      const auto parameters = m.ia32e() ? 0 : static_cast<unsigned>(gate.low >> 32 & 31);
      push_return(a, m.ia32e() ? 8 : gate.type() == 4 ? 2 : 4, next, parameters, inwards ? &state : nullptr);
    }
    return target(d, ip);
  }

  /// nullopt: a task, which is refused by name
  std::optional<Outcome> transfer(bool call, U16 selector, U64 ip, unsigned slot, U64 next, Arrived& a) const {
    const unsigned error = selector & 0xFFFC;
    if (null(selector)) return fault(kGp, 0);
    const Desc d = look(selector);
    if (!d.there || d.data()) return fault(kGp, error);
    if (d.code()) return direct(call, selector, d, ip, slot, next, a);
    if (d.type() == 12 || (d.type() == 4 && !m.ia32e())) return through_gate(call, selector, d, next, a);
    if (!m.ia32e() && (d.type() == 1 || d.type() == 5 || d.type() == 9)) return std::nullopt;
    return fault(kGp, error);
  }

  U64 popped(unsigned n, unsigned slot, U64 above = 0) const {
    return m.get((before().gpr[kRsp] + above + n * slot) & stack_mask(), slot);
  }

  Outcome back(bool iret, unsigned slot, U64 release, Arrived& a) const {
    const CpuState state = before();
    const auto selector = static_cast<U16>(popped(1, slot));
    const unsigned error = selector & 0xFFFC, level = rpl(selector), first = iret ? 3 : 2;
    if (null(selector)) return fault(kGp, 0);
    const Desc d = look(selector);
    if (!d.there || !d.code() || level < cpl) return fault(kGp, error);
    if (d.conforming() ? d.dpl() > level : d.dpl() != level) return fault(kGp, error);
    if (two_widths(d)) return fault(kGp, error);
    if (!d.present()) return fault(kNp, error);
    arrive(a, selector, popped(0, slot));
    a.outwards = level > cpl;
    if (!a.outwards && !(iret && code64())) {
      a.sp = (a.sp + first * slot + release) & stack_mask();
    } else {
      const bool to64 = m.ia32e() && d.l();
      const U64 sp = popped(first, slot, release);
      a.ss = static_cast<U16>(popped(first + 1, slot, release));
      const unsigned ss_error = a.ss & 0xFFFCu;
      U64 mask = ~U64{0};
      if (null(a.ss)) {
        if (!to64 || level == 3 || rpl(a.ss) != level) return fault(kGp, 0);
      } else {
        const Desc stack = look(a.ss);
        if (!stack.there || rpl(a.ss) != level || !stack.writable() || stack.dpl() != level)
          return fault(kGp, ss_error);
        if (!stack.present()) return fault(kSf, ss_error);
        if (!to64) mask = stack.d() ? kLow32 : kLow16;
      }
      a.sp = mask == kLow16 ? (state.gpr[kRsp] & ~mask) | ((sp + release) & mask) : (sp + release) & mask;
    }
    if (iret) a.flags = flags_after_iret(state.rflags, popped(2, slot), slot);
    return target(d, a.ip);
  }
  U64 flags_after_iret(U64 old, U64 image, unsigned slot) const {
    U64 changes = kArithmetic | kTf | kDf | kNt;
    if (slot != 2) changes |= kRf | kAc | kId;
    if (cpl <= (old >> 12 & 3)) changes |= kIf;
    if (cpl == 0) changes |= kIopl | (slot != 2 ? kVif | kVip : 0);
    return (old & ~changes) | (image & changes);
  }

  bool visible(U16 selector, Desc& d) const {
    if (null(selector)) return false;
    d = look(selector);
    return d.there && (d.conforming() || (cpl <= d.dpl() && rpl(selector) <= d.dpl()));
  }
  /// LAR and LSL, from the tables of types that are valid
  std::optional<U64> lar_or_lsl(bool lsl, U16 selector) const {
    Desc d;
    if (!visible(selector, d)) return std::nullopt;
    if (!d.code() && !d.data()) {
      const bool segment =
          d.type() == 2 || d.type() == 9 || d.type() == 11 || (!m.ia32e() && (d.type() == 1 || d.type() == 3));
      const bool gate = d.type() == 12 || (!m.ia32e() && (d.type() == 4 || d.type() == 5));
      if (!segment && !(gate && !lsl)) return std::nullopt;
    }
    return lsl ? d.last() : d.low >> 32 & 0x00F0FF00;
  }
  bool verify(bool write, U16 selector) const {
    Desc d;
    return visible(selector, d) && (write ? d.writable() : (d.data() || d.code()) && d.readable());
  }
};

/// A descriptor for slot `n` of the GDT or the LDT, whichever the selector names.
void set_descriptor(Placed& m, const Structures& s, U16 selector, U64 low) {
  m.set(((selector & 4) != 0 ? s.ldt : s.gdt) + (selector & 0xFFF8u), 8, low);
}
U64 limited(Placed& m) { return m.pick(8) == 0 ? U64{m.pick(0x10000)} : FarRef::kFlat; }
/// Code of that level: 64-bit, 32-bit or 16-bit, conforming or not, mostly present.
U64 code_descriptor(Placed& m, unsigned level, bool wide) {
  const U64 widths = wide ? 1 : (m.ia32e() ? m.pick(4) : 2 * m.pick(2));
  return limited(m) | U64{24 + m.pick(8)} << 40 | U64{level} << 45 | U64{m.pick(16) != 0} << 47 | (widths & 1) << 53 |
         (widths >> 1) << 54;
}
U64 stack_descriptor(Placed& m, unsigned level) {
  return FarRef::kFlat | U64{18 + m.pick(2)} << 40 | U64{level} << 45 | U64{m.pick(16) != 0} << 47 |
         U64{m.pick(4) != 0} << 54;
}
U16 selector_of(Placed& m, unsigned slot, unsigned level) {
  return static_cast<U16>(slot << 3 | (m.pick(4) == 0 ? 4 : 0) | (m.pick(8) == 0 ? m.pick(4) : level));
}

/// Registers that a data segment of an inner ring was in are null afterwards, others stay.
void expect_segments(const CpuState& before, const CpuState& after, unsigned level, bool outwards) {
  for (const unsigned seg : {kEs, kDs, kFs, kGs}) {
    const Segment& old = before.segments[seg];
    const bool conforming = (old.type() & 12) == 12;
    const bool dropped = outwards && !conforming && old.dpl() < level;
    EXPECT_EQ(after.segments[seg].selector, dropped ? 0 : old.selector) << "segment register " << seg;
  }
}

void expect_arrival(Placed& m, const Arrived& a, const CpuState& before, const CpuState& after) {
  EXPECT_EQ(after.segments[kCs].selector, a.cs);
  EXPECT_EQ(after.rip, a.ip);
  EXPECT_EQ(after.segments[kSs].selector, a.ss);
  EXPECT_EQ(after.gpr[kRsp], a.sp);
  const U64 mask = a.slot == 8 ? ~U64{0} : (U64{1} << 8 * a.slot) - 1;
  for (std::size_t n = 0; n < a.pushed.size(); ++n) {
    EXPECT_EQ(m.get(a.sp + (a.pushed.size() - 1 - n) * a.slot, a.slot), a.pushed[n] & mask) << "value " << n;
  }
  expect_segments(before, after, a.cs & 3u, a.outwards);
}

TEST(FarTransfers, JumpsAndCallsGoDirectlyAndThroughGatesAnywhere) {
  on_many_machines<FarRef>([](Placed& m, const Structures& s, const FarRef& ref) {
    const bool call = m.pick(2) != 0;
    const unsigned bytes = random_size(m);
    const Bytes code = sized(m.env, bytes, {0xFF, call ? 0x1Bu : 0x2Bu}, true);
    const Ready ready = place_code(m, code, ref.cpl);
    const U64 ip = m.pick(8) == 0 ? m.random() : m.place(16);
    U16 selector = random_selector(m);
    if (m.pick(4) != 0) {  // code of this ring, or a gate to code of an inner one
      const unsigned level = m.pick(2) == 0 ? ref.cpl : static_cast<unsigned>(m.pick(ref.cpl + 1));
      const auto slot = static_cast<unsigned>(1 + m.pick(4));
      const bool gate = m.pick(3) != 0;
      const U16 target = selector_of(m, slot, level);
      set_descriptor(m, s, target, code_descriptor(m, gate ? level : ref.cpl, gate && m.ia32e()));
      selector = target;
      if (gate) {
        selector = selector_of(m, 6 + static_cast<unsigned>(m.pick(4)), 0);
        const U64 type = !m.ia32e() && m.pick(3) == 0 ? 4 : 12;
        const U64 dpl = m.pick(8) == 0 ? m.pick(4) : 3, present = m.pick(16) != 0;
        set_descriptor(m, s, selector,
                       (ip & kLow16) | U64{target} << 16 | U64{m.pick(32)} << 32 | type << 40 | dpl << 45 |
                           present << 47 | (ip >> 16 & kLow16) << 48);
        if (m.ia32e()) set_descriptor(m, s, static_cast<U16>(selector + 8), m.pick(16) == 0 ? m.random() : ip >> 32);
        for (unsigned ring = 0; ring < 3 && !m.ia32e(); ++ring) {  // stacks to go to
          const auto stack = static_cast<U16>((11 + ring) << 3 | ring);
          if (m.pick(8) == 0) continue;
          m.set(s.tss + 8 + 8 * ring, 2, stack);
          set_descriptor(m, s, stack, stack_descriptor(m, ring));
        }
      }
    }
    m.set(ready.data, bytes, ip);
    m.set(ready.data + bytes, 2, selector);
    const U64 offset = bytes == 8 ? ip : ip & ((U64{1} << 8 * bytes) - 1);
    const CpuState before = m.cpu->state();
    Arrived a;
    const auto expected = ref.transfer(call, selector, offset, bytes, ready.code + code.size(), a);
    if (!expected) return false;
    if (!expected->faults && a.sp + 256 < 0x10100) return false;  // a 16-bit stack: nothing is mapped there
    const Outcome got = outcome_of([&] { step(*m.cpu); });
    EXPECT_EQ(got, *expected) << (call ? "CALL " : "JMP ") << std::hex << selector << ":" << offset << " descriptor "
                              << ref.look(selector).low;
    const CpuState after = m.cpu->state();
    if (expected->faults) {
      EXPECT_EQ(after, before) << "a fault leaves all as it was";
      return false;
    }
    expect_arrival(m, a, before, after);
    return true;
  });
}

TEST(FarTransfers, ReturnsGoToTheSameRingAndOutwards) {
  on_many_machines<FarRef>([](Placed& m, const Structures& s, const FarRef& ref) {
    const bool iret = m.pick(2) != 0;
    const unsigned bytes = random_size(m);
    const U64 release = iret || m.pick(2) == 0 ? 0 : 8 * m.pick(8);
    const Bytes plain = {iret ? 0xCFu : 0xCBu};
    const Bytes releasing = {0xCA, static_cast<unsigned>(release), 0};
    const Bytes code = sized(m.env, bytes, release != 0 ? releasing : plain);
    place_code(m, code, ref.cpl);
    U16 cs = random_selector(m), ss = random_selector(m);
    if (m.pick(8) != 0) {
      const unsigned level = m.pick(2) == 0 ? ref.cpl : ref.cpl + static_cast<unsigned>(m.pick(4 - ref.cpl));
      cs = selector_of(m, 1 + static_cast<unsigned>(m.pick(4)), level);
      ss = selector_of(m, 6 + static_cast<unsigned>(m.pick(4)), level);
      set_descriptor(m, s, cs, code_descriptor(m, level, false));
      set_descriptor(m, s, ss, stack_descriptor(m, level));
      if (m.pick(8) == 0) ss = static_cast<U16>(m.pick(4));
    }
    const U64 ip = m.pick(8) == 0 ? m.random() : m.pick(2) == 0 ? m.place(16) : m.pick(0x10000);
    const U64 flags = m.random() & ~kVm & ~kTf;
    const CpuState before = m.cpu->state();
    U64 at = before.gpr[kRsp];
    const auto put = [&](U64 value) { m.set(at, bytes, value), at += bytes; };
    put(ip), put(cs | (m.random() & ~kLow16));
    if (iret) put(flags);
    at += release;
    put(m.place(256)), put(ss | (m.random() & ~kLow16));
    Arrived a;
    const Outcome expected = ref.back(iret, bytes, release, a);
    const Outcome got = outcome_of([&] { step(*m.cpu); });
    EXPECT_EQ(got, expected) << (iret ? "IRET" : "RET") << bytes << " to " << std::hex << cs << ":" << ip << " stack "
                             << ss << " descriptors " << ref.look(cs).low << " " << ref.look(ss).low;
    const CpuState after = m.cpu->state();
    if (expected.faults) {
      EXPECT_EQ(after, before) << "a fault leaves all as it was";
      return false;
    }
    expect_arrival(m, a, before, after);
    EXPECT_EQ(after.rflags, iret ? a.flags : before.rflags);
    return true;
  });
}

TEST(FarTransfers, DescriptorsAnywhereAreLookedAt) {
  on_many_machines<FarRef>([](Placed& m, const Structures& s, const FarRef& ref) {
    const auto what = static_cast<unsigned>(m.pick(4));  // LAR, LSL, VERR, VERW: EAX and ECX
    constexpr unsigned kCodes[][2] = {{0x02, 0xC1}, {0x03, 0xC1}, {0x00, 0xE1}, {0x00, 0xE9}};
    const unsigned bytes = random_size(m);
    place_code(m, sized(m.env, bytes, {0x0F, kCodes[what][0], kCodes[what][1]}), ref.cpl);
    const U16 selector = random_selector(m);
    if (m.pick(2) == 0 && !Tables::null(selector) && selector / 8u < kSlots) {
      set_descriptor(m, s, selector, (m.random() & ~(U64{16} << 40)) | U64{m.pick(8) != 0} << 47);
    }
    CpuState state = m.cpu->state();
    state.gpr[kRcx] = (m.random() & ~kLow16) | selector;
    state.gpr[kRax] = m.random();
    if (!m.code_is_64()) state.gpr[kRax] &= kLow32, state.gpr[kRcx] &= kLow32;
    m.cpu->set_state(state);
    const U64 rax = state.gpr[kRax];
    const Outcome got = outcome_of([&] { step(*m.cpu); });
    EXPECT_EQ(got, Outcome{});
    const CpuState after = m.cpu->state();
    SCOPED_TRACE(testing::Message() << "instruction " << what << " of " << bytes << " bytes, " << std::hex << selector
                                    << " descriptor " << ref.look(selector).low);
    if (what >= 2) {
      EXPECT_EQ((after.rflags & 0x40) != 0, ref.verify(what == 3, selector));
      EXPECT_EQ(after.gpr[kRax], rax);
      return (after.rflags & 0x40) != 0;
    }
    const auto value = ref.lar_or_lsl(what == 1, selector);
    EXPECT_EQ((after.rflags & 0x40) != 0, value.has_value());
    const U64 kept = bytes == 2 ? rax & ~kLow16 : 0;
    EXPECT_EQ(after.gpr[kRax], value ? kept | (bytes == 2 ? *value & kLow16 : *value) : rax);
    return value.has_value();
  });
}

// ---- real mode: vectors, stacks and code anywhere in the first megabyte

struct RealMachine : TestMachine {
  explicit RealMachine(unsigned seed) : random(seed) {}
  U64 pick(U64 below) { return random() % below; }
  U64 get(U64 linear, unsigned bytes) {
    U64 value = 0;
    for (unsigned n = 0; n < bytes; ++n) value |= std::to_integer<U64>(*at(linear + n)) << 8 * n;
    return value;
  }
  void set(U64 linear, unsigned bytes, U64 value) {
    for (unsigned n = 0; n < bytes; ++n) *at(linear + n) = static_cast<std::byte>(value >> 8 * n);
  }
  std::mt19937_64 random;
};

/// Values on a stack of 64 KiB: none may lie across its end.
struct RealStack {
  U64 base, sp;
  bool holds(unsigned first, unsigned count, unsigned slot, bool down) const {
    for (unsigned n = first; n < first + count; ++n) {
      if (place(n, slot, down) + slot - 1 > kLow16) return false;
    }
    return true;
  }
  /// Value n from the top; `down`: of those that are pushed, the first is 0
  U64 place(unsigned n, unsigned slot, bool down) const {
    return (down ? sp - U64{n + 1} * slot : sp + U64{n} * slot) & kLow16;
  }
};

enum class RealKind { Jump, Call, Return, Iret, Interrupt };

TEST(FarTransfers, RealModeGoesThroughVectorsAndStacksAnywhere) {
  unsigned good = 0, bad = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    RealMachine m(seed);
    const auto kind = static_cast<RealKind>(m.pick(5));
    const unsigned bytes = kind != RealKind::Interrupt && m.pick(2) != 0 ? 4 : 2;
    const auto vector = static_cast<unsigned>(m.pick(256));
    const U64 ip = m.pick(0x10000) | (bytes == 4 && m.pick(4) == 0 ? m.random() & 0xFFFF0000 : 0);
    const auto selector = static_cast<U16>(m.random());
    const U64 image = m.random() & kLow32 & ~kTf;

    CpuState state = CpuState::after_reset();
    const auto real = [&](Seg seg, U64 value) {
      state.segments[seg] = {
          .selector = static_cast<U16>(value), .attributes = 0x93, .limit = 0xFFFF, .base = value << 4};
    };
    real(kCs, 0x8000), real(kDs, 0x7000), real(kSs, m.pick(0x5000));
    const U64 code = m.pick(0x1000), pointer = m.pick(0x1000);
    state.rip = code;
    state.gpr[kRbx] = pointer;
    state.gpr[kRsp] = (m.random() & 0xFFFF0000) | (m.pick(4) == 0 ? m.pick(24) : m.pick(0x10000));
    state.rflags = 2 | (m.random() & (kArithmetic | kDf | kIf | kIopl | kNt | kAc | kId | kVif | kVip));
    state.idtr = {m.pick(0xF0000), static_cast<U16>(m.pick(8) == 0 ? m.pick(0x400) : 0x3FF)};

    Bytes insn;
    if (bytes == 4) insn.push_back(0x66);
    switch (kind) {
      case RealKind::Jump: insn.insert(insn.end(), {0xFF, 0x2F}); break;
      case RealKind::Call: insn.insert(insn.end(), {0xFF, 0x1F}); break;
      case RealKind::Return: insn.push_back(0xCB); break;
      case RealKind::Iret: insn.push_back(0xCF); break;
      case RealKind::Interrupt: insn.insert(insn.end(), {0xCD, vector}); break;
    }
    const RealStack stack{state.segments[kSs].base, state.gpr[kRsp] & kLow16};
    m.set(0x70000 + pointer, bytes, ip), m.set(0x70000 + pointer + bytes, 2, selector);
    const U64 popped[] = {ip, selector, image};
    if (kind == RealKind::Return || kind == RealKind::Iret) {
      for (unsigned n = 0; n < 3; ++n) m.set(stack.base + stack.place(n, bytes, false), bytes, popped[n]);
    }
    if (kind == RealKind::Interrupt) m.set(state.idtr.base + 4 * vector, 4, (ip & kLow16) | U64{selector} << 16);
    for (std::size_t n = 0; n < insn.size(); ++n) m.set(0x80000 + code + n, 1, insn[n]);
    m.cpu->set_state(state);

    // What the manual says
    const U64 next = code + insn.size();
    std::vector<U64> pushed;
    if (kind == RealKind::Call) pushed = {0x8000, next};
    if (kind == RealKind::Interrupt) pushed = {state.rflags, 0x8000, next};
    const unsigned pops = kind == RealKind::Return ? 2 : kind == RealKind::Iret ? 3 : 0;
    unsigned expected = 0;
    if (kind == RealKind::Interrupt && 4 * vector + 3 > state.idtr.limit) {
      expected = kGp;
    } else if (!stack.holds(0, static_cast<unsigned>(pushed.size()), bytes, true) ||
               !stack.holds(0, pops, bytes, false)) {
      expected = kSf;
    } else if (ip > kLow16) {
      expected = kGp;
    }

    SCOPED_TRACE(testing::Message() << "seed " << seed << " kind " << static_cast<int>(kind) << " bytes " << bytes);
    const Outcome got = outcome_of([&] { step(*m.cpu); });
    EXPECT_EQ(got.faults ? got.vector : 0, expected);
    const CpuState after = m.cpu->state();
    if (expected != 0) {
      EXPECT_EQ(after, state) << "a fault leaves all as it was";
      ++bad;
    } else {
      ++good;
      EXPECT_EQ(after.rip, ip);
      EXPECT_EQ(after.segments[kCs].selector, selector);
      EXPECT_EQ(after.segments[kCs].base, U64{selector} << 4);
      const U64 sp = stack.sp - pushed.size() * bytes + U64{pops} * bytes;
      EXPECT_EQ(after.gpr[kRsp], (state.gpr[kRsp] & ~kLow16) | (sp & kLow16)) << "the upper half is not used";
      const U64 mask = bytes == 2 ? kLow16 : kLow32;
      for (unsigned n = 0; n < pushed.size(); ++n) {
        EXPECT_EQ(m.get(stack.base + stack.place(n, bytes, true), bytes), pushed[n] & mask) << "value " << n;
      }
      U64 flags = state.rflags;
      if (kind == RealKind::Interrupt) flags &= ~(kIf | kTf | kAc);
      if (kind == RealKind::Iret && bytes == 2) flags = (flags & ~kLow16) | (image & 0x7FD5) | 2;
      if (kind == RealKind::Iret && bytes == 4) flags = (image & 0x257FD5) | (flags & 0x1A0000) | 2;
      EXPECT_EQ(after.rflags, flags);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(good, 1000u);
  EXPECT_GT(bad, 100u);
}

}  // namespace
}  // namespace zs::machine
