// A machine whose system structures lie anywhere in the linear address space, for tests that hold the interpreter
// against a reference written from the manual. GDT, LDT, IDT, TSS and stacks lie at random addresses (48 bits in IA-32e
// mode, 32 outside it), across pages as it comes, on supervisor pages; descriptors, selectors, gates and privilege
// levels are random.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "arch/linear.h"
#include "machine/vcpu/core.h"
#include "machine/vcpu/test_machine.h"

namespace zs::machine {

using U16 = std::uint16_t;
using U64 = std::uint64_t;

enum class Env { Prot32, Compat32, Compat16, Long64 };

/// What an operation came to.
struct Outcome {
  bool faults = false;
  unsigned vector = 0, error = 0;
  bool operator==(const Outcome&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Outcome& o) {
  if (!o.faults) return out << "no fault";
  return out << "fault " << o.vector << " error " << std::hex << o.error << std::dec;
}

inline Outcome fault(unsigned vector, unsigned error) { return {true, vector, error}; }
inline constexpr unsigned kTs = 10, kNp = 11, kSf = 12, kGp = 13, kPf = 14, kWriteByUser = 7;

/// A machine with pages where a test wants them.
class Placed : public TestMachine {
 public:
  Placed(Env in, unsigned seed) : env(in), random(seed) {}

  bool ia32e() const { return env != Env::Prot32; }
  bool code_is_64() const { return env == Env::Long64; }
  U64 pick(U64 below) { return random() % below; }
  U64 canonical() { return static_cast<U64>(static_cast<std::int64_t>(random() << 16) >> 16); }
  /// A random linear address with room for `bytes`; canonical in IA-32e mode.
  U64 place(U64 bytes) {
    U64 address = ia32e() ? canonical() : random() & 0xFFFFFFFF;
    if (pick(4) == 0) address = (address & ~U64{4095}) + 4096 - pick(bytes);  // across two pages
    if (!arch::is_canonical(address + bytes) || (!ia32e() && address + bytes > 0xFFFFFFFF)) address -= 0x10000;
    for (U64 page = address & ~U64{4095}; page <= address + bytes - 1; page += 4096) map(page);
    return address;
  }
  void map(U64 page, bool user = false) {
    if (pages.contains(page)) return;
    U64 table = kRoot;
    const unsigned bits = ia32e() ? 9 : 10, entry = ia32e() ? 8 : 4;
    for (int level = ia32e() ? 4 : 2; level >= 1; --level) {
      const U64 at = table + (page >> (12 + (level - 1) * bits) & ((1u << bits) - 1)) * entry;
      U64 value = entry == 8 ? read<U64>(at) : read<std::uint32_t>(at);
      if (value == 0) {
        value = allocate() | (level > 1 || user ? 7 : 3);  // present, writable; pages of the supervisor but for `user`
        entry == 8 ? write<U64>(at, value) : write<std::uint32_t>(at, static_cast<std::uint32_t>(value));
      }
      table = value & ~U64{4095};
    }
    pages[page] = table;
  }
  U64 allocate() {
    const U64 page = next_page;
    next_page += 4096;
    return page;
  }
  std::byte* byte_at(U64 linear) { return at(pages.at(linear & ~U64{4095}) + (linear & 4095)); }
  U64 get(U64 linear, unsigned bytes) {
    U64 value = 0;
    for (unsigned n = 0; n < bytes; ++n) value |= std::to_integer<U64>(*byte_at(linear + n)) << 8 * n;
    return value;
  }
  void set(U64 linear, unsigned bytes, U64 value) {
    for (unsigned n = 0; n < bytes; ++n) *byte_at(linear + n) = static_cast<std::byte>(value >> 8 * n);
  }

  static constexpr U64 kRoot = 0x20000;
  Env env;
  std::mt19937_64 random;
  U64 next_page = kRoot + 4096;
  std::map<U64, U64> pages;  // linear to physical
};

inline constexpr unsigned kSlots = 16;

struct Structures {
  U64 gdt, ldt, idt, tss, stacks[4], ist;
  unsigned gdt_limit, ldt_limit, idt_limit, tss_limit;
  bool ldt_there;
};

/// A random descriptor of eight bytes; of code and data mostly sensible ones.
inline U64 random_descriptor(Placed& m) {
  const U64 flat = 0x000F'0000'0000'FFFF | U64{0x80} << 48;  // G, 4 GiB
  const U64 type = m.pick(4) == 0 ? m.pick(32) : 16 + m.pick(16);
  const U64 dpl = m.pick(2) == 0 ? 0 : m.pick(4);
  const U64 present = m.pick(8) != 0;
  const U64 l_d = m.pick(4);  // bit 0: L, bit 1: D/B
  return flat | type << 40 | dpl << 45 | present << 47 | (l_d & 1) << 53 | (l_d >> 1) << 54;
}

inline Structures build(Placed& m, unsigned level) {
  Structures s{};
  s.gdt = m.place(kSlots * 8);
  s.ldt = m.place(kSlots * 8);
  s.idt = m.place(256 * 16);
  s.tss = m.place(0x68 + 64);
  for (U64& stack : s.stacks) stack = m.place(256) + 256;
  s.ist = m.place(256) + 256;
  s.gdt_limit = static_cast<unsigned>(m.pick(4) == 0 ? m.pick(kSlots * 8) : kSlots * 8 - 1);
  s.ldt_limit = static_cast<unsigned>(m.pick(4) == 0 ? m.pick(kSlots * 8) : kSlots * 8 - 1);
  s.idt_limit = static_cast<unsigned>(m.pick(8) == 0 ? m.pick(256 * 8) : 256 * 16 - 1);
  s.tss_limit = 0x68 + 63;
  s.ldt_there = m.pick(8) != 0;
  for (unsigned n = 1; n < kSlots; ++n) {
    m.set(s.gdt + 8 * n, 8, random_descriptor(m));
    m.set(s.ldt + 8 * n, 8, random_descriptor(m));
  }
  if (m.ia32e()) {
    for (unsigned ring = 0; ring < 3; ++ring) m.set(s.tss + 4 + 8 * ring, 8, s.stacks[ring]);
    for (unsigned n = 0; n < 7; ++n) m.set(s.tss + 0x24 + 8 * n, 8, s.ist);
  } else {
    for (unsigned ring = 0; ring < 3; ++ring) {
      m.set(s.tss + 4 + 8 * ring, 4, s.stacks[ring]);
      m.set(s.tss + 8 + 8 * ring, 4, m.pick(kSlots * 2) * 4 | (m.pick(4) == 0 ? m.pick(4) : ring));
    }
  }
  m.set(s.tss + 0x66, 2, 0x68);
  for (unsigned n = 0; n < 64; ++n) m.set(s.tss + 0x68 + n, 1, m.pick(256));

  CpuState state = m.ia32e() ? TestMachine::long_registers(level) : TestMachine::protected_registers(level);
  if (!m.ia32e()) state.cr0 |= 0x80000000;
  if (m.env == Env::Compat32 || m.env == Env::Compat16) {
    const unsigned big = m.env == Env::Compat32 ? 0xC09B : 0x809B;
    state.segments[kCs] = TestMachine::flat(static_cast<U16>(level == 0 ? 8 : 0x2B), big | level << 5);
  }
  state.cr3 = Placed::kRoot;
  state.gdtr = {s.gdt, static_cast<U16>(s.gdt_limit)};
  state.idtr = {s.idt, static_cast<U16>(s.idt_limit)};
  state.segments[kLdtr] = {
      .selector = 8, .attributes = static_cast<U16>(s.ldt_there ? 0x82 : 0), .limit = s.ldt_limit, .base = s.ldt};
  state.segments[kTr] = {.selector = 0x10, .attributes = 0x8B, .limit = s.tss_limit, .base = s.tss};
  if (m.env != Env::Long64) {  // a stack below 4 GiB for what stays in the ring
    const U64 low = 0x00400000 + m.pick(0x10000) * 0x1000;
    m.map(low, level == 3);
    state.gpr[kRsp] = low + 0x800;
  } else {
    const U64 page = m.random() << 17 >> 17 & ~U64{4095};
    m.map(page, level == 3);
    state.gpr[kRsp] = page + 0x800;
  }
  state.rip = 0x1234;
  m.cpu->set_state(state);
  return s;
}

/// The tables, as the manual reads them.
struct Tables {
  Placed& m;
  const Structures& s;
  unsigned cpl;
  bool code64() const { return m.env == Env::Long64; }

  struct Desc {
    U64 low = 0, at = 0;
    bool there = false;
    unsigned type() const { return low >> 40 & 31; }
    bool code() const { return type() >= 24; }
    bool data() const { return type() >= 16 && type() < 24; }
    bool readable() const { return data() || (type() & 2) != 0; }
    bool writable() const { return data() && (type() & 2) != 0; }
    bool conforming() const { return code() && (type() & 4) != 0; }
    unsigned dpl() const { return low >> 45 & 3; }
    bool present() const { return (low >> 47 & 1) != 0; }
    bool l() const { return (low >> 53 & 1) != 0; }
    bool d() const { return (low >> 54 & 1) != 0; }
    U64 last() const {  // the last byte of the segment
      const U64 limit = (low & 0xFFFF) | (low >> 48 & 15) << 16;
      return (low >> 55 & 1) != 0 ? limit << 12 | 0xFFF : limit;
    }
  };
  unsigned limit(U16 selector) const { return (selector & 4) == 0 ? s.gdt_limit : s.ldt_there ? s.ldt_limit : 0; }
  Desc look(U16 selector) const {
    if ((selector & 0xFFF8u) + 7 > limit(selector) || ((selector & 4) != 0 && !s.ldt_there)) return {};
    const U64 at = ((selector & 4) != 0 ? s.ldt : s.gdt) + (selector & 0xFFF8);
    return {m.get(at, 8), at, true};
  }
  static bool null(U16 selector) { return (selector & ~3) == 0; }
  static unsigned rpl(U16 selector) { return selector & 3; }
};

template <typename Run>
Outcome outcome_of(Run run) {
  try {
    run();
    return {};
  } catch (const vcpu::Fault& f) {
    return fault(f.vector, f.has_error ? f.error : 0);
  }
}

inline constexpr Env kEnvs[] = {Env::Prot32, Env::Compat32, Env::Compat16, Env::Long64};

/// each(machine, structures, reference) returns whether all went well, with neither a fault nor a failure.
template <typename Reference, typename Each>
void on_many_machines(Each each) {
  unsigned good = 0;
  for (const Env env : kEnvs) {
    for (unsigned seed = 0; seed < 400; ++seed) {
      Placed m(env, seed * 4 + static_cast<unsigned>(env));
      const unsigned level = m.pick(2) == 0 ? 0 : 3;
      const Structures s = build(m, level);
      SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(env) << " seed " << seed << " level " << level);
      if (each(m, s, Reference{{m, s, level}})) ++good;
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(good, 50u) << "hardly anything went well: this tests no more than faults";
}

inline U16 random_selector(Placed& m) { return static_cast<U16>(m.pick(kSlots + 2) << 3 | m.pick(8)); }

}  // namespace zs::machine
