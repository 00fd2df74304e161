// System structures anywhere in the linear address space, in every protected mode: the interpreter against a reference
// that is written from the manual's operation sections and knows nothing of the interpreter. far_transfers_test.cc has
// what moves CS.
// source: SDM vol. 2, "Operation" of MOV to a segment register, LLDT, LTR, INT n, IN; vol. 3A, "Segment Descriptor
// Tables in IA-32e Mode", "TSS Descriptor in 64-bit mode", "64-Bit Mode IDT", "I/O Permission Bit Map".
#include "machine/vcpu/placed_structures.h"

namespace zs::machine {
namespace {

struct Ref : Tables {
  Outcome load(unsigned reg, U16 selector) const {
    const unsigned error = selector & 0xFFFC;
    if (reg == kSs) {
      if (null(selector)) return code64() && cpl != 3 && rpl(selector) == cpl ? Outcome{} : fault(kGp, 0);
      const Desc d = look(selector);
      if (!d.there || rpl(selector) != cpl || !d.writable() || d.dpl() != cpl) return fault(kGp, error);
      return d.present() ? Outcome{} : fault(kSf, error);
    }
    if (null(selector)) return {};
    const Desc d = look(selector);
    if (!d.there || !(d.data() || d.code()) || !d.readable()) return fault(kGp, error);
    if (!d.conforming() && (rpl(selector) > d.dpl() || cpl > d.dpl())) return fault(kGp, error);
    return d.present() ? Outcome{} : fault(kNp, error);
  }

  /// LLDT and LTR. base: what is loaded
  Outcome load_system(bool task, U16 selector, U64& base) const {
    const unsigned error = selector & 0xFFFC;
    base = 0;
    if (null(selector)) return task ? fault(kGp, 0) : Outcome{};
    if ((selector & 4) != 0) return fault(kGp, error);
    const Desc d = look(selector);
    const bool right = task ? d.type() == 9 || (d.type() == 1 && !m.ia32e()) : d.type() == 2;
    if (!d.there || !right) return fault(kGp, error);
    if (!d.present()) return fault(kNp, error);
    base = (d.low >> 16 & 0xFFFFFF) | (d.low >> 56) << 24;
    if (m.ia32e()) {
      if ((selector & 0xFFF8u) + 15 > limit(selector)) return fault(kGp, error);
      const U64 high = m.get(d.at + 8, 8);
      if ((high >> 40 & 31) != 0) return fault(kGp, error);
      base |= high << 32;
      if (!arch::is_canonical(base)) return fault(kGp, error);
    }
    return {};
  }

  struct Entered {
    U16 cs = 0, ss = 0;
    U64 ip = 0, sp = 0;
    std::vector<U64> pushed;  // the last one at sp
    unsigned slot = 0;
  };
  /// INT n.
  Outcome interrupt(unsigned vector, const CpuState& before, Entered& e) const {
    const unsigned size = m.ia32e() ? 16 : 8, gate_error = vector * 8 + 2;
    if (vector * size + size - 1 > s.idt_limit) return fault(kGp, gate_error);
    const U64 gate = m.get(s.idt + vector * size, 8);
    const unsigned type = gate >> 40 & 31;
    const bool known = type == 14 || type == 15 || (!m.ia32e() && (type == 6 || type == 7));
    if (!known || (gate >> 45 & 3) < cpl) return fault(kGp, gate_error);
    if ((gate >> 47 & 1) == 0) return fault(kNp, gate_error);
    const auto selector = static_cast<U16>(gate >> 16);
    if (null(selector)) return fault(kGp, 0);
    const Desc d = look(selector);
    const unsigned error = selector & 0xFFFC;
    if (!d.there || !d.code() || d.dpl() > cpl) return fault(kGp, error);
    if (!d.present()) return fault(kNp, error);
    if (m.ia32e() && (!d.l() || d.d())) return fault(kGp, error);
    const unsigned level = d.conforming() ? cpl : d.dpl();
    e.cs = static_cast<U16>((selector & ~3) | level);
    e.ip = (gate & 0xFFFF) | (gate >> 48 << 16);
    if (type < 8) e.ip &= 0xFFFF;
    if (m.ia32e()) e.ip |= m.get(s.idt + vector * size + 8, 4) << 32;
    e.ss = before.segments[kSs].selector;
    e.sp = before.gpr[kRsp];
    e.slot = m.ia32e() ? 8 : type < 8 ? 2 : 4;
    if (m.ia32e()) {
      const unsigned ist = gate >> 32 & 7;
      if (ist != 0) {
        e.sp = m.get(s.tss + 0x24 + 8 * (ist - 1), 8);
      } else if (level < cpl) {
        e.sp = m.get(s.tss + 4 + 8 * level, 8);
      }
      if (level < cpl) e.ss = static_cast<U16>(level);
      e.sp &= ~U64{15};
    } else if (level < cpl) {
      e.sp = m.get(s.tss + 4 + 8 * level, 4);
      e.ss = static_cast<U16>(m.get(s.tss + 8 + 8 * level, 2));
      const unsigned ss_error = e.ss & 0xFFFCu;
      if (null(e.ss)) return fault(kTs, 0);
      const Desc stack = look(e.ss);
      if (!stack.there || rpl(e.ss) != level || stack.dpl() != level || !stack.writable()) return fault(kTs, ss_error);
      if (!stack.present()) return fault(kSf, ss_error);
      if ((stack.type() & 4) != 0) return fault(kSf, ss_error);  // expand-down with a limit of 4 GiB holds nothing
      if (!stack.d()) e.sp &= 0xFFFF;
    }
    if (m.ia32e() || level < cpl) e.pushed = {before.segments[kSs].selector, before.gpr[kRsp]};
    for (const U64 value : {before.rflags, U64{before.segments[kCs].selector}, before.rip}) e.pushed.push_back(value);
    // What stays in ring 3 is pushed with its rights, and the interrupt stacks are the supervisor's.
    if (m.ia32e() && level == 3 && (gate >> 32 & 7) != 0) return fault(kPf, kWriteByUser);
    if (m.ia32e() && !arch::is_canonical(e.ip)) return fault(kGp, 0);
    e.sp -= e.pushed.size() * e.slot;
    return {};
  }

  Outcome port(U16 number, unsigned bytes) const {
    const U64 bits = m.get(s.tss + 0x68 + number / 8, 2) >> (number & 7);
    return (bits & ((1u << bytes) - 1)) != 0 ? fault(kGp, 0) : Outcome{};
  }
};

TEST(SystemStructures, SegmentRegistersLoadFromTablesAnywhere) {
  on_many_machines<Ref>([](Placed& m, const Structures&, const Ref& ref) {
    constexpr Seg kRegisters[] = {kEs, kSs, kDs, kFs, kGs};
    const Seg reg = kRegisters[m.pick(5)];
    const U16 selector = random_selector(m);
    const Outcome expected = ref.load(reg, selector);
    const auto d = ref.look(selector);
    const Outcome got = outcome_of([&] { m.cpu->core().load_segment(reg, selector); });
    EXPECT_EQ(got, expected) << "selector " << std::hex << selector << " into register " << reg << " descriptor "
                             << d.low;
    if (expected.faults || Ref::null(selector)) return false;
    EXPECT_EQ(m.cpu->segment(reg).selector, selector);
    EXPECT_EQ(m.get(d.at + 5, 1), (d.low >> 40 & 0xFF) | 1) << "the accessed bit, in the table";
    return true;
  });
}

TEST(SystemStructures, LdtrAndTrLoadFromTablesAnywhere) {
  on_many_machines<Ref>([](Placed& m, const Structures& s, const Ref& ref) {
    const bool task = m.pick(2) != 0;
    const auto selector = static_cast<U16>(m.pick(kSlots + 1) << 3 | (m.pick(8) == 0 ? m.pick(8) : 0));
    if (m.pick(4) != 0 && selector / 8u + 1 < kSlots) {  // mostly the right kind
      const U64 base = m.place(16);
      const U64 present = m.pick(8) != 0, high = m.pick(8) == 0 ? m.random() : base >> 32;
      m.set(
          s.gdt + (selector & ~7u), 8,
          0x67 | (base & 0xFFFFFF) << 16 | (task ? U64{9} : U64{2}) << 40 | present << 47 | (base >> 24 & 0xFF) << 56);
      if (m.ia32e() && (selector & ~7) != 0) m.set(s.gdt + (selector & ~7u) + 8, 8, high);
    }
    U64 base = 0;
    const Outcome expected = ref.load_system(task, selector, base);
    const auto d = ref.look(selector);
    const Outcome got = outcome_of([&] { task ? m.cpu->core().load_tr(selector) : m.cpu->core().load_ldt(selector); });
    EXPECT_EQ(got, expected) << (task ? "LTR " : "LLDT ") << std::hex << selector << " descriptor " << d.low;
    if (expected.faults || Ref::null(selector)) return false;
    const Segment& loaded = m.cpu->segment(task ? kTr : kLdtr);
    EXPECT_EQ(loaded.base, base);
    EXPECT_EQ(loaded.selector, selector);
    if (task) {
      EXPECT_EQ(m.get(d.at + 5, 1) & 2, 2u) << "busy, in the table";
    }
    return true;
  });
}

TEST(SystemStructures, InterruptsGoThroughTablesAndOntoStacksAnywhere) {
  on_many_machines<Ref>([](Placed& m, const Structures& s, const Ref& ref) {
    const auto vector = static_cast<unsigned>(m.pick(256));
    const unsigned size = m.ia32e() ? 16 : 8;
    constexpr U64 kTypes[] = {14, 15, 14, 15, 6, 7, 12};
    const U64 type = kTypes[m.pick(std::size(kTypes))];
    const U64 target = m.ia32e() ? (m.pick(8) == 0 ? m.random() : m.place(16)) : m.random() & 0xFFFFFFFF;
    const U64 ist = m.ia32e() && m.pick(3) == 0 ? 1 + m.pick(7) : 0;
    const U64 dpl = m.pick(4) == 0 ? m.pick(4) : 3, present = m.pick(16) != 0;
    const auto selector = static_cast<U16>(8 + m.pick(kSlots - 1) * 8 + (m.pick(4) == 0 ? m.pick(8) : 0));
    if (m.pick(4) != 0) {  // code of ring 0 that a gate may lead to
      const U64 l = m.ia32e() ? 1 : 0;
      m.set(((selector & 4) != 0 ? s.ldt : s.gdt) + (selector & ~7u), 8,
            0x008F'9A00'0000'FFFF | l << 53 | (1 - l) << 54 | (m.pick(2) != 0 ? U64{4} << 40 : 0));
    }
    m.set(s.idt + vector * size, 8,
          (target & 0xFFFF) | U64{selector} << 16 | ist << 32 | type << 40 | dpl << 45 | present << 47 |
              (target >> 16 & 0xFFFF) << 48);
    if (m.ia32e()) m.set(s.idt + vector * size + 8, 8, target >> 32);
    const CpuState before = m.cpu->state();
    Ref::Entered e;
    const Outcome expected = ref.interrupt(vector, before, e);
    if (!expected.faults && !m.ia32e() && e.sp < 0x10000) return false;  // a 16-bit stack: nothing is mapped there
    const Outcome got = outcome_of([&] {
      m.cpu->core().deliver(static_cast<std::uint8_t>(vector), false, 0, vcpu::Core::Origin::Software, before.rip);
      m.cpu->core().regs[vcpu::kIp] = m.cpu->core().next_ip;
    });
    EXPECT_EQ(got, expected) << "vector " << vector << " type " << type << " selector " << std::hex << selector;
    if (expected.faults) return false;
    const CpuState after = m.cpu->state();
    EXPECT_EQ(after.segments[kCs].selector, e.cs);
    EXPECT_EQ(after.rip, e.ip);
    EXPECT_EQ(after.segments[kSs].selector, e.ss);
    EXPECT_EQ(after.gpr[kRsp], e.sp);
    const U64 mask = e.slot == 8 ? ~U64{0} : (U64{1} << 8 * e.slot) - 1;
    for (std::size_t n = 0; n < e.pushed.size(); ++n) {
      EXPECT_EQ(m.get(e.sp + (e.pushed.size() - 1 - n) * e.slot, e.slot), e.pushed[n] & mask) << "value " << n;
    }
    return true;
  });
}

TEST(SystemStructures, ThePermissionBitMapIsReadFromATssAnywhere) {
  on_many_machines<Ref>([](Placed& m, const Structures&, const Ref& ref) {
    if (ref.cpl == 0) return false;
    const auto port = static_cast<U16>(m.pick(8 * 60));
    const unsigned bytes = 1u << m.pick(3);
    const Outcome expected = ref.port(port, bytes);
    EXPECT_EQ(outcome_of([&] { m.cpu->core().io_check(port, bytes); }), expected) << port << " " << bytes;
    return !expected.faults;
  });
}

// The failing case that began this: code of compatibility mode, and a handler's tables above 4 GiB.
TEST(SystemStructures, AnInterruptInCompatibilityModeFindsItsTablesAbove4GiB) {
  Placed m(Env::Compat32, 1);
  Structures s = build(m, 0);
  s.gdt = 0x7FFF'8000'0000, s.idt = 0x1'0000'0000, s.ist = 0x2'0000'1000;
  for (const U64 page : {s.gdt, s.idt, s.idt + 0x1000, s.ist - 0x1000, s.ist}) m.map(page);
  m.set(s.gdt + 0x18, 8, 0x00AF'9B00'0000'FFFF);
  m.set(s.tss + 0x24, 8, s.ist);
  m.set(s.idt + 0x40 * 16, 8, 0x5678 | 0x18 << 16 | U64{1} << 32 | U64{0x8E} << 40);
  m.set(s.idt + 0x40 * 16 + 8, 8, 3);
  CpuState state = m.cpu->state();
  state.gdtr = {s.gdt, 0xFF};
  state.idtr = {s.idt, 0xFFF};
  m.cpu->set_state(state);
  m.cpu->core().deliver(0x40, false, 0, vcpu::Core::Origin::External, state.rip);
  EXPECT_EQ(m.cpu->core().next_ip, 0x3'0000'5678u);
  EXPECT_EQ(m.cpu->gpr(kRsp), s.ist - 40);
  EXPECT_EQ(m.get(s.ist - 40, 8), state.rip);
}

}  // namespace
}  // namespace zs::machine
