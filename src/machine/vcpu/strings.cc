// MOVS STOS LODS SCAS CMPS INS OUTS, alone and repeated. A repeated one retires once; between elements registers are
// those of the elements done, so a fault or an interrupt there resumes where it stopped. MOVS and STOS that run upwards
// inside plain pages go a page at a time.
#include <algorithm>
#include <cstring>

#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

using U64 = std::uint64_t;

/// Elements between two looks at what is pending; one that does not go in a chunk counts for kSingleCost.
constexpr U64 kElementsInARow = 4096, kSingleCost = 4;

U64 address(const Core& c, const Insn& i, Gpr reg) { return c.regs[reg] << i.address_shift >> i.address_shift; }

void set_address(Core& c, const Insn& i, Gpr reg, U64 value) {
  if (i.address_shift == 48) {
    c.set_reg<std::uint16_t>(8 * reg, static_cast<std::uint16_t>(value));
  } else if (i.address_shift == 32) {
    c.regs[reg] = static_cast<std::uint32_t>(value);
  } else {
    c.regs[reg] = value;
  }
}

void advance(Core& c, const Insn& i, Gpr reg, unsigned bytes) {
  const bool down = (c.system_flags & flag::df) != 0;
  set_address(c, i, reg, c.regs[reg] + (down ? ~U64{bytes} + 1 : bytes));
}

template <typename T>
struct Movs {
  static constexpr bool kCompares = false;
  static void step(Core& c, const Insn& i) {
    const T value = c.load<T>(i.segment, address(c, i, kRsi));
    c.store<T>(kEs, address(c, i, kRdi), value);
    advance(c, i, kRsi, sizeof(T));
    advance(c, i, kRdi, sizeof(T));
  }
  /// Up to `count` elements at once; 0 if not possible here.
  static U64 chunk(Core& c, const Insn& i, U64 count) {
    const U64 from = address(c, i, kRsi), to = address(c, i, kRdi);
    const U64 from_linear = c.views[i.segment].base + from, to_linear = c.views[kEs].base + to;
    const U64 room = kPageBytes - std::max(from_linear & kPageOffset, to_linear & kPageOffset);
    const U64 elements = std::min(count, room / sizeof(T));
    if (elements < 2) return 0;
    const auto bytes = static_cast<unsigned>(elements * sizeof(T));
    const void* source = c.fast_load_place(i.segment, from, bytes);
    void* target = c.fast_store_place(kEs, to, bytes);
    if (source == nullptr || target == nullptr) return 0;
    const auto distance = reinterpret_cast<U64>(target) - reinterpret_cast<U64>(source);
    if (distance < bytes) {
      if (distance == 0 || sizeof(T) != 1 || distance != 1) return 0;
      std::memset(target, *static_cast<const char*>(source), bytes);  // the idiom that fills with one byte
    } else {
      std::memmove(target, source, bytes);
    }
    set_address(c, i, kRsi, from + bytes);
    set_address(c, i, kRdi, to + bytes);
    return elements;
  }
};

template <typename T>
struct Stos {
  static constexpr bool kCompares = false;
  static void step(Core& c, const Insn& i) {
    c.store<T>(kEs, address(c, i, kRdi), c.reg<T>(0));
    advance(c, i, kRdi, sizeof(T));
  }
  static U64 chunk(Core& c, const Insn& i, U64 count) {
    const U64 to = address(c, i, kRdi);
    const U64 room = kPageBytes - ((c.views[kEs].base + to) & kPageOffset);
    const U64 elements = std::min(count, room / sizeof(T));
    if (elements < 2) return 0;
    const auto bytes = static_cast<unsigned>(elements * sizeof(T));
    auto* target = static_cast<char*>(c.fast_store_place(kEs, to, bytes));
    if (target == nullptr) return 0;
    const T value = c.reg<T>(0);
    for (U64 n = 0; n < elements; ++n) std::memcpy(target + n * sizeof(T), &value, sizeof(T));
    set_address(c, i, kRdi, to + bytes);
    return elements;
  }
};

template <typename T>
struct Lods {
  static constexpr bool kCompares = false;
  static void step(Core& c, const Insn& i) {
    c.set_reg<T>(0, c.load<T>(i.segment, address(c, i, kRsi)));
    advance(c, i, kRsi, sizeof(T));
  }
};

template <typename T>
struct Scas {
  static constexpr bool kCompares = true;
  static void step(Core& c, const Insn& i) {
    const T value = c.load<T>(kEs, address(c, i, kRdi));
    Cmp::apply<T>(c.status, c.reg<T>(0), value);
    advance(c, i, kRdi, sizeof(T));
  }
};

template <typename T>
struct Cmps {
  static constexpr bool kCompares = true;
  static void step(Core& c, const Insn& i) {
    const T a = c.load<T>(i.segment, address(c, i, kRsi));
    const T b = c.load<T>(kEs, address(c, i, kRdi));
    Cmp::apply<T>(c.status, a, b);
    advance(c, i, kRsi, sizeof(T));
    advance(c, i, kRdi, sizeof(T));
  }
};

template <typename T>
struct Ins {
  static constexpr bool kCompares = false;
  static void step(Core& c, const Insn& i) {
    const auto port = c.reg<std::uint16_t>(8 * kRdx);
    c.io_check(port, sizeof(T));
    c.probe_store(kEs, address(c, i, kRdi), sizeof(T));
    c.flush_reports();
    c.store<T>(kEs, address(c, i, kRdi), static_cast<T>(c.bus.in(port, sizeof(T))));
    advance(c, i, kRdi, sizeof(T));
  }
};

template <typename T>
struct Outs {
  static constexpr bool kCompares = false;
  static void step(Core& c, const Insn& i) {
    const auto port = c.reg<std::uint16_t>(8 * kRdx);
    c.io_check(port, sizeof(T));
    const T value = c.load<T>(i.segment, address(c, i, kRsi));
    c.flush_reports();
    c.bus.out(port, sizeof(T), static_cast<std::uint32_t>(value));
    advance(c, i, kRsi, sizeof(T));
  }
};

void set_count(Core& c, const Insn& i, U64 count) { set_address(c, i, kRcx, count); }

template <typename Op>
void string(Core& c, const Insn& i) {
  if (i.rep == Rep::None) {
    Op::step(c, i);
    return;
  }
  if (!c.suspended) c.rep_elements = 0;
  c.suspended = false;
  U64 count = address(c, i, kRcx);
  // With TF a trap follows each element; otherwise something pending is looked at once in a while.
  U64 in_a_row = (c.system_flags & flag::tf) != 0 || c.single_elements ? 1 : kElementsInARow;
  const bool up = (c.system_flags & flag::df) == 0;
  while (count != 0) {
    if (in_a_row == 0 || c.pending_dr6 != 0) {
      c.suspended = true;
      c.next_ip = c.regs[kIp];
      c.arm();
      return;
    }
    U64 done = 0;
    if constexpr (requires { Op::chunk(c, i, count); }) {
      if (up && count > 1 && in_a_row > 1) done = Op::chunk(c, i, std::min(count, in_a_row));
    }
    if (done == 0) {
      Op::step(c, i);
      done = 1;
    }
    count -= done;
    in_a_row -= std::min(in_a_row, done == 1 ? kSingleCost : done);
    set_count(c, i, count);
    c.rep_elements += done;
    if constexpr (Op::kCompares) {
      if (((c.status & status::zf) != 0) != (i.rep == Rep::RepOrRepe)) return;
    }
  }
}

}  // namespace

void lower_string(Decoded& d) {
  d.use_implicit_memory(ZYDIS_REGISTER_RSI);
  constexpr unsigned kIn = 0x6C, kOut = 0x6E;
  const unsigned name = d.raw.opcode & 0xFEu;
  const unsigned widest = name == kIn || name == kOut ? 4 : 8;
  d.insn.run = by_size(std::min(d.operand_bytes(), widest), [&](auto t) -> Handler {
    using T = decltype(t);
    switch (name) {
      case kIn: return string<Ins<T>>;
      case kOut: return string<Outs<T>>;
      case 0xA4: return string<Movs<T>>;
      case 0xA6: return string<Cmps<T>>;
      case 0xAA: return string<Stos<T>>;
      case 0xAC: return string<Lods<T>>;
      default: return string<Scas<T>>;
    }
  });
}

}  // namespace zs::machine::vcpu
