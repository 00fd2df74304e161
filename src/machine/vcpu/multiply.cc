// MUL, IMUL, DIV, IDIV and the widenings of the accumulator. A quotient that does not fit is #DE, found before the
// host's own division could trap.
#include <limits>
#include <type_traits>

#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

constexpr unsigned kAx = 8 * kRax, kDx = 8 * kRdx;

[[noreturn]] void divide_error() { throw Fault{kDivideError, false, 0}; }

/// The two halves of the accumulator pair: AH:AL, DX:AX, EDX:EAX, RDX:RAX.
template <typename T>
constexpr unsigned kHigh = sizeof(T) == 1 ? kAx + 1 : kDx;

/// CF and OF say that the product does not fit its lower half. The other flags are undefined, and hosts differ: on some
/// they depend on what was there before. chosen: sign and parity of the lower half, no zero, no adjust.
template <typename T>
Status product_status(T low, std::uint8_t lost) {
  Status s;
  Test::apply<T>(s, low, low);
  constexpr Status kKept = status::sf | status::pf;
  return static_cast<Status>((s & kKept) | (lost != 0 ? status::cf | status::of : 0));
}

template <typename T, bool Signed>
void multiply(Core& c, const Insn& i) {
  const T b = read_operand<T>(c, i, i.dst, i.to_memory);
  T low = c.reg<T>(kAx);
  std::uint8_t lost = 0;
  if constexpr (sizeof(T) == 1) {
    std::uint16_t product = low;
    if constexpr (Signed) {
      __asm__("imulb %[b]\n\tsetc %[l]" : "+a"(product), [l] "=q"(lost) : [b] "q"(b) : "cc");
    } else {
      __asm__("mulb %[b]\n\tsetc %[l]" : "+a"(product), [l] "=q"(lost) : [b] "q"(b) : "cc");
    }
    c.set_reg<std::uint16_t>(kAx, product);
    low = static_cast<T>(product);
  } else {
    T high = 0;
    if constexpr (Signed) {
      __asm__("imul %[b]\n\tsetc %[l]" : "+a"(low), "=d"(high), [l] "=q"(lost) : [b] "r"(b) : "cc");
    } else {
      __asm__("mul %[b]\n\tsetc %[l]" : "+a"(low), "=d"(high), [l] "=q"(lost) : [b] "r"(b) : "cc");
    }
    c.set_reg<T>(kAx, low);
    c.set_reg<T>(kDx, high);
  }
  c.status = product_status(low, lost);
}

template <typename T, bool Signed>
void divide(Core& c, const Insn& i) {
  const T b = read_operand<T>(c, i, i.dst, i.to_memory);
  if (b == 0) divide_error();
  constexpr unsigned kBits = 8 * sizeof(T);
  const Wide dividend = static_cast<Wide>(c.reg<T>(kHigh<T>)) << kBits | c.reg<T>(kAx);
  if constexpr (Signed) {
    using S = std::make_signed_t<T>;
    constexpr unsigned kUnused = 128 - 2 * kBits;
    const SignedWide a = static_cast<SignedWide>(dividend << kUnused) >> kUnused;
    const SignedWide d = std::int64_t{static_cast<S>(b)};
    if (d == -1 && a == (static_cast<SignedWide>(Wide{1} << 127))) divide_error();
    const SignedWide quotient = a / d;
    if (quotient > std::numeric_limits<S>::max() || quotient < std::numeric_limits<S>::min()) divide_error();
    c.set_reg<T>(kAx, static_cast<T>(quotient));
    c.set_reg<T>(kHigh<T>, static_cast<T>(a % d));
  } else {
    const Wide quotient = dividend / b;
    if (quotient > std::numeric_limits<T>::max()) divide_error();
    c.set_reg<T>(kAx, static_cast<T>(quotient));
    c.set_reg<T>(kHigh<T>, static_cast<T>(dividend % b));
  }
}

/// IMUL with two or three operands: dst = src * (imm or dst).
template <typename T>
void imul_truncated(Core& c, const Insn& i) {
  T a = read_operand<T>(c, i, i.src, i.from_memory);
  const T b = i.detail != 0 ? static_cast<T>(i.imm) : c.reg<T>(i.dst);
  std::uint8_t lost = 0;
  __asm__("imul %[b], %[a]\n\tsetc %[l]" : [a] "+r"(a), [l] "=q"(lost) : [b] "r"(b) : "cc");
  c.status = product_status(a, lost);
  c.set_reg<T>(i.dst, a);
}

template <bool Signed>
void lower_multiply(Decoded& d) {
  if (Signed && d.visible() >= 2) {
    d.insn.detail = d.is_immediate(2);
    d.insn.run = by_width(d.bytes(0), [](auto t) -> Handler { return imul_truncated<decltype(t)>; });
    return;
  }
  d.insn.run = by_size(d.bytes(0), [](auto t) -> Handler { return multiply<decltype(t), Signed>; });
}

/// CBW, CWDE, CDQE: the lower half of the accumulator, sign-extended to the whole.
template <typename Half, typename Whole>
void widen(Core& c, const Insn&) {
  c.set_reg<Whole>(kAx, static_cast<Whole>(static_cast<std::make_signed_t<Whole>>(
                            static_cast<std::make_signed_t<Half>>(c.reg<Half>(kAx)))));
}
/// CWD, CDQ, CQO: the sign of the accumulator into the data register.
template <typename T>
void spread_sign(Core& c, const Insn&) {
  c.set_reg<T>(kDx, (c.reg<T>(kAx) >> (8 * sizeof(T) - 1) & 1) != 0 ? static_cast<T>(~T{0}) : T{0});
}

constexpr LowerRow kMultiplyRows[] = {
    {ZYDIS_MNEMONIC_MUL, lower_multiply<false>},
    {ZYDIS_MNEMONIC_IMUL, lower_multiply<true>},
    {ZYDIS_MNEMONIC_DIV, ZS_SIZED(divide, false)},
    {ZYDIS_MNEMONIC_IDIV, ZS_SIZED(divide, true)},
    {ZYDIS_MNEMONIC_CBW, plain<widen<std::uint8_t, std::uint16_t>>},
    {ZYDIS_MNEMONIC_CWDE, plain<widen<std::uint16_t, std::uint32_t>>},
    {ZYDIS_MNEMONIC_CDQE, plain<widen<std::uint32_t, std::uint64_t>>},
    {ZYDIS_MNEMONIC_CWD, plain<spread_sign<std::uint16_t>>},
    {ZYDIS_MNEMONIC_CDQ, plain<spread_sign<std::uint32_t>>},
    {ZYDIS_MNEMONIC_CQO, plain<spread_sign<std::uint64_t>>},
};

}  // namespace

std::span<const LowerRow> multiply_rows() { return kMultiplyRows; }

}  // namespace zs::machine::vcpu
