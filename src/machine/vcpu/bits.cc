// BT BTS BTR BTC, BSF BSR TZCNT LZCNT POPCNT, BSWAP, SETcc, CMOVcc, CRC32, MOVBE.
#include <type_traits>

#include "machine/vcpu/conditions.h"
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

enum class BitOp : std::uint8_t { Test, Set, Reset, Complement };

template <typename T>
T with_bit(T value, unsigned bit, BitOp op) {
  const T mask = static_cast<T>(T{1} << bit);
  switch (op) {
    case BitOp::Set: return static_cast<T>(value | mask);
    case BitOp::Reset: return static_cast<T>(value & ~mask);
    case BitOp::Complement: return static_cast<T>(value ^ mask);
    default: return value;
  }
}

/// A bit offset in a register reaches beyond a memory operand, in either direction; a constant one does not.
template <typename T>
void bit(Core& c, const Insn& i) {
  constexpr unsigned kBits = 8 * sizeof(T);
  const auto op = static_cast<BitOp>(i.detail & 3);
  const bool constant = (i.detail & 4) != 0;
  const T offset = constant ? static_cast<T>(i.imm) : c.reg<T>(i.src);
  const auto within = static_cast<unsigned>(offset & (kBits - 1));
  const auto set_carry = [&](T value) { c.status = with_status(c.status, status::cf, (value >> within & 1) != 0); };
  if (!i.to_memory) {
    const T value = c.reg<T>(i.dst);
    set_carry(value);
    if (op != BitOp::Test) c.set_reg<T>(i.dst, with_bit(value, within, op));
    return;
  }
  std::uint64_t address = c.effective_address(i);
  if (!constant) {
    const auto units = static_cast<std::int64_t>(static_cast<std::make_signed_t<T>>(offset)) >> (sizeof(T) == 2   ? 4
                                                                                                 : sizeof(T) == 4 ? 5
                                                                                                                  : 6);
    address += static_cast<std::uint64_t>(units) * sizeof(T);
    address = address << i.address_shift >> i.address_shift;
  }
  if (op == BitOp::Test) {
    set_carry(c.load<T>(i.segment, address));
    return;
  }
  c.modify<T>(i.segment, address, [&](T value) {
    set_carry(value);
    return with_bit(value, within, op);
  });
}

template <BitOp Op>
void lower_bit(Decoded& d) {
  d.insn.detail = static_cast<std::uint8_t>(static_cast<unsigned>(Op) | (d.is_immediate(1) ? 4 : 0));
  d.insn.run = by_width(d.bytes(0), [](auto t) -> Handler { return bit<decltype(t)>; });
}

// A source of zero leaves the destination of BSF and BSR as it was; the host does the same.
#define ZS_SCAN(NAME, MNEMONIC)                                                                        \
  struct NAME {                                                                                        \
    template <typename T>                                                                              \
    static T apply(Status& s, T a, T b) {                                                              \
      __asm__(MNEMONIC " %[b], %[a]\n\tlahf\n\tseto %%al" : [a] "+r"(a), "=a"(s) : [b] "r"(b) : "cc"); \
      return a;                                                                                        \
    }                                                                                                  \
  };
ZS_SCAN(Bsf, "bsf")
ZS_SCAN(Bsr, "bsr")
ZS_SCAN(Tzcnt, "tzcnt")
ZS_SCAN(Lzcnt, "lzcnt")
ZS_SCAN(Popcnt, "popcnt")
#undef ZS_SCAN

/// A 32-bit BSF of zero leaves all 64 bits of the destination; any other result clears the upper half.
template <typename T, typename Op, bool KeepsOnZero>
void scan(Core& c, const Insn& i) {
  const T b = read_operand<T>(c, i, i.src, i.from_memory);
  const T result = Op::template apply<T>(c.status, c.reg<T>(i.dst), b);
  if (!KeepsOnZero || b != 0) c.set_reg<T>(i.dst, result);
}

template <typename T>
T swapped(T value) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

/// BSWAP of 16 bits is undefined; processors clear the register.
template <typename T>
void bswap(Core& c, const Insn& i) {
  c.set_reg<T>(i.dst, sizeof(T) == 2 ? T{0} : swapped(c.reg<T>(i.dst)));
}

template <typename T>
void movbe(Core& c, const Insn& i) {
  if (i.to_memory) {
    c.store<T>(i.segment, c.effective_address(i), swapped(c.reg<T>(i.src)));
  } else {
    c.set_reg<T>(i.dst, swapped(c.load<T>(i.segment, c.effective_address(i))));
  }
}

template <typename T>
void crc32(Core& c, const Insn& i) {
  std::uint32_t sum = c.reg<std::uint32_t>(i.dst);
  const T data = read_operand<T>(c, i, i.src, i.from_memory);
  constexpr std::uint32_t kReflected = 0x82F63B78;
  for (unsigned n = 0; n < sizeof(T); ++n) {
    sum ^= static_cast<std::uint8_t>(data >> (8 * n));
    for (unsigned b = 0; b < 8; ++b) sum = sum >> 1 ^ ((sum & 1) != 0 ? kReflected : 0);
  }
  c.set_reg<std::uint32_t>(i.dst, sum);
}
void lower_crc32(Decoded& d) {
  d.insn.run = by_size(d.bytes(1), [](auto t) -> Handler { return crc32<decltype(t)>; });
}

template <unsigned Code>
struct SetCc {
  static void run(Core& c, const Insn& i) {
    const auto value = static_cast<std::uint8_t>(holds<Code>(c.status));
    if (i.to_memory) {
      c.store<std::uint8_t>(i.segment, c.effective_address(i), value);
    } else {
      c.set_reg<std::uint8_t>(i.dst, value);
    }
  }
};
/// The load happens, and may fault, whatever the condition; 32-bit forms clear the upper half either way.
template <typename T, unsigned Code>
void cmov(Core& c, const Insn& i) {
  const T value = read_operand<T>(c, i, i.src, i.from_memory);
  c.set_reg<T>(i.dst, holds<Code>(c.status) ? value : c.reg<T>(i.dst));
}
template <typename T>
struct Cmov {
  template <unsigned Code>
  struct Of {
    static void run(Core& c, const Insn& i) { cmov<T, Code>(c, i); }
  };
};

// clang-format off
constexpr LowerRow kBitRows[] = {
    {ZYDIS_MNEMONIC_BT, lower_bit<BitOp::Test>},  {ZYDIS_MNEMONIC_BTS, lower_bit<BitOp::Set>},
    {ZYDIS_MNEMONIC_BTR, lower_bit<BitOp::Reset>}, {ZYDIS_MNEMONIC_BTC, lower_bit<BitOp::Complement>},
    {ZYDIS_MNEMONIC_BSF, ZS_WIDE(scan, Bsf, true)},  {ZYDIS_MNEMONIC_BSR, ZS_WIDE(scan, Bsr, true)},
    {ZYDIS_MNEMONIC_TZCNT, ZS_WIDE(scan, Tzcnt, false)}, {ZYDIS_MNEMONIC_LZCNT, ZS_WIDE(scan, Lzcnt, false)},
    {ZYDIS_MNEMONIC_POPCNT, ZS_WIDE(scan, Popcnt, false)},
    {ZYDIS_MNEMONIC_BSWAP, ZS_WIDE(bswap)}, {ZYDIS_MNEMONIC_MOVBE, ZS_WIDE(movbe)}, {ZYDIS_MNEMONIC_CRC32, lower_crc32},
};
// clang-format on

}  // namespace

void lower_setcc(Decoded& d) { d.insn.run = by_condition<SetCc>(d.raw.opcode); }
void lower_cmov(Decoded& d) {
  d.insn.run = by_width(d.bytes(0), [&](auto t) { return by_condition<Cmov<decltype(t)>::template Of>(d.raw.opcode); });
}

std::span<const LowerRow> bit_rows() { return kBitRows; }

}  // namespace zs::machine::vcpu
