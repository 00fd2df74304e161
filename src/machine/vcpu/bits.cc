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
  if (!d.is_memory(0)) d.insn.dst = d.general(0);
  d.insn.detail = static_cast<std::uint8_t>(Op);
  if (d.is_immediate(1)) {
    d.insn.imm = d.immediate(1) & 0xFF;
    d.insn.detail |= 4;
  } else {
    d.insn.src = d.general(1);
  }
  switch (d.bytes(0)) {
    case 2: d.insn.run = bit<std::uint16_t>; break;
    case 4: d.insn.run = bit<std::uint32_t>; break;
    default: d.insn.run = bit<std::uint64_t>; break;
  }
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
template <typename T, typename Op>
void scan(Core& c, const Insn& i) {
  const T b = read_operand<T>(c, i, i.src, i.from_memory);
  const T result = Op::template apply<T>(c.status, c.reg<T>(i.dst), b);
  if (i.detail != 0 && b == 0) return;
  c.set_reg<T>(i.dst, result);
}

template <typename Op, bool KeepsOnZero>
void lower_scan(Decoded& d) {
  d.insn.dst = d.general(0);
  if (!d.is_memory(1)) d.insn.src = d.general(1);
  d.insn.detail = KeepsOnZero;
  switch (d.bytes(0)) {
    case 2: d.insn.run = scan<std::uint16_t, Op>; break;
    case 4: d.insn.run = scan<std::uint32_t, Op>; break;
    default: d.insn.run = scan<std::uint64_t, Op>; break;
  }
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
void lower_bswap(Decoded& d) {
  d.insn.dst = d.general(0);
  const unsigned bytes = d.bytes(0);
  d.insn.run = bytes == 8 ? bswap<std::uint64_t> : bytes == 4 ? bswap<std::uint32_t> : bswap<std::uint16_t>;
}

template <typename T>
void movbe(Core& c, const Insn& i) {
  if (i.to_memory) {
    c.store<T>(i.segment, c.effective_address(i), swapped(c.reg<T>(i.src)));
  } else {
    c.set_reg<T>(i.dst, swapped(c.load<T>(i.segment, c.effective_address(i))));
  }
}
void lower_movbe(Decoded& d) {
  if (d.is_memory(0)) d.insn.src = d.general(1);
  if (!d.is_memory(0)) d.insn.dst = d.general(0);
  const unsigned bytes = d.bytes(0);
  d.insn.run = bytes == 8 ? movbe<std::uint64_t> : bytes == 4 ? movbe<std::uint32_t> : movbe<std::uint16_t>;
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
  d.insn.dst = d.general(0);
  if (!d.is_memory(1)) d.insn.src = d.general(1);
  d.insn.run = by_size(d.bytes(1), [&](auto t) -> Handler { return crc32<decltype(t)>; });
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
void lower_setcc(Decoded& d) {
  if (!d.is_memory(0)) d.insn.dst = d.general(0);
  d.insn.run = by_condition<SetCc>(d.raw.opcode);
}

/// The load happens, and may fault, whatever the condition; 32-bit forms clear the upper half either way.
template <typename T, unsigned Code>
void cmov(Core& c, const Insn& i) {
  const T value = read_operand<T>(c, i, i.src, i.from_memory);
  c.set_reg<T>(i.dst, holds<Code>(c.status) ? value : c.reg<T>(i.dst));
}
template <unsigned Code>
struct Cmov16 {
  static void run(Core& c, const Insn& i) { cmov<std::uint16_t, Code>(c, i); }
};
template <unsigned Code>
struct Cmov32 {
  static void run(Core& c, const Insn& i) { cmov<std::uint32_t, Code>(c, i); }
};
template <unsigned Code>
struct Cmov64 {
  static void run(Core& c, const Insn& i) { cmov<std::uint64_t, Code>(c, i); }
};
void lower_cmov(Decoded& d) {
  d.insn.dst = d.general(0);
  if (!d.is_memory(1)) d.insn.src = d.general(1);
  const unsigned bytes = d.bytes(0);
  d.insn.run = bytes == 8   ? by_condition<Cmov64>(d.raw.opcode)
               : bytes == 4 ? by_condition<Cmov32>(d.raw.opcode)
                            : by_condition<Cmov16>(d.raw.opcode);
}

// clang-format off
constexpr LowerRow kBitRows[] = {
    {ZYDIS_MNEMONIC_BT, lower_bit<BitOp::Test>},  {ZYDIS_MNEMONIC_BTS, lower_bit<BitOp::Set>},
    {ZYDIS_MNEMONIC_BTR, lower_bit<BitOp::Reset>}, {ZYDIS_MNEMONIC_BTC, lower_bit<BitOp::Complement>},
    {ZYDIS_MNEMONIC_BSF, lower_scan<Bsf, true>},  {ZYDIS_MNEMONIC_BSR, lower_scan<Bsr, true>},
    {ZYDIS_MNEMONIC_TZCNT, lower_scan<Tzcnt, false>}, {ZYDIS_MNEMONIC_LZCNT, lower_scan<Lzcnt, false>},
    {ZYDIS_MNEMONIC_POPCNT, lower_scan<Popcnt, false>},
    {ZYDIS_MNEMONIC_BSWAP, lower_bswap}, {ZYDIS_MNEMONIC_MOVBE, lower_movbe}, {ZYDIS_MNEMONIC_CRC32, lower_crc32},
    {ZYDIS_MNEMONIC_SETO, lower_setcc},   {ZYDIS_MNEMONIC_SETNO, lower_setcc},  {ZYDIS_MNEMONIC_SETB, lower_setcc},
    {ZYDIS_MNEMONIC_SETNB, lower_setcc},  {ZYDIS_MNEMONIC_SETZ, lower_setcc},   {ZYDIS_MNEMONIC_SETNZ, lower_setcc},
    {ZYDIS_MNEMONIC_SETBE, lower_setcc},  {ZYDIS_MNEMONIC_SETNBE, lower_setcc}, {ZYDIS_MNEMONIC_SETS, lower_setcc},
    {ZYDIS_MNEMONIC_SETNS, lower_setcc},  {ZYDIS_MNEMONIC_SETP, lower_setcc},   {ZYDIS_MNEMONIC_SETNP, lower_setcc},
    {ZYDIS_MNEMONIC_SETL, lower_setcc},   {ZYDIS_MNEMONIC_SETNL, lower_setcc},  {ZYDIS_MNEMONIC_SETLE, lower_setcc},
    {ZYDIS_MNEMONIC_SETNLE, lower_setcc},
    {ZYDIS_MNEMONIC_CMOVO, lower_cmov},   {ZYDIS_MNEMONIC_CMOVNO, lower_cmov},  {ZYDIS_MNEMONIC_CMOVB, lower_cmov},
    {ZYDIS_MNEMONIC_CMOVNB, lower_cmov},  {ZYDIS_MNEMONIC_CMOVZ, lower_cmov},   {ZYDIS_MNEMONIC_CMOVNZ, lower_cmov},
    {ZYDIS_MNEMONIC_CMOVBE, lower_cmov},  {ZYDIS_MNEMONIC_CMOVNBE, lower_cmov}, {ZYDIS_MNEMONIC_CMOVS, lower_cmov},
    {ZYDIS_MNEMONIC_CMOVNS, lower_cmov},  {ZYDIS_MNEMONIC_CMOVP, lower_cmov},   {ZYDIS_MNEMONIC_CMOVNP, lower_cmov},
    {ZYDIS_MNEMONIC_CMOVL, lower_cmov},   {ZYDIS_MNEMONIC_CMOVNL, lower_cmov},  {ZYDIS_MNEMONIC_CMOVLE, lower_cmov},
    {ZYDIS_MNEMONIC_CMOVNLE, lower_cmov},
};
// clang-format on

}  // namespace

std::span<const LowerRow> bit_rows() { return kBitRows; }

}  // namespace zs::machine::vcpu
