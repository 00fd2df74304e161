// Arithmetic flags, and operations that set them. The operations execute the host's own instruction and keep the flags
// it left, by LAHF and SETO: exact by construction, and cheaper than remembering operands for later. Flags that the
// manual calls undefined are the host's, but after a multiplication (multiply.cc).
#pragma once

#include <cstdint>
#include <type_traits>

namespace zs::machine::vcpu {

namespace flag {
inline constexpr std::uint64_t cf = 1u << 0, pf = 1u << 2, af = 1u << 4, zf = 1u << 6, sf = 1u << 7, tf = 1u << 8;
inline constexpr std::uint64_t interrupt = 1u << 9, df = 1u << 10, of = 1u << 11, iopl = 3u << 12, nt = 1u << 14;
inline constexpr std::uint64_t rf = 1u << 16, vm = 1u << 17, ac = 1u << 18, vif = 1u << 19, vip = 1u << 20;
inline constexpr std::uint64_t id = 1u << 21;
inline constexpr std::uint64_t arithmetic = cf | pf | af | zf | sf | of;
}  // namespace flag

/// The six arithmetic flags as LAHF and SETO AL leave them in AX: bits 15..8 are EFLAGS bits 7..0, bit 0 is OF.
using Status = std::uint16_t;
namespace status {
inline constexpr Status sf = 0x8000, zf = 0x4000, af = 0x1000, pf = 0x400, cf = 0x100, of = 1;
}

inline std::uint64_t to_flags(Status s) {
  return (static_cast<std::uint64_t>(s) >> 8 & (flag::cf | flag::pf | flag::af | flag::zf | flag::sf)) |
         (static_cast<std::uint64_t>(s) & 1u) << 11;
}
inline Status to_status(std::uint64_t flags) {
  return static_cast<Status>((flags & 0xD5u) << 8 | 0x200u | (flags >> 11 & 1u));
}

inline Status with_status(Status s, Status bit, bool set) { return static_cast<Status>((s & ~bit) | (set ? bit : 0)); }

/// Condition codes by the low four bits of Jcc's opcode.
template <unsigned Code>
inline bool holds(Status s) {
  bool truth = false;
  if constexpr (Code / 2 == 0) truth = (s & status::of) != 0;
  if constexpr (Code / 2 == 1) truth = (s & status::cf) != 0;
  if constexpr (Code / 2 == 2) truth = (s & status::zf) != 0;
  if constexpr (Code / 2 == 3) truth = (s & (status::cf | status::zf)) != 0;
  if constexpr (Code / 2 == 4) truth = (s & status::sf) != 0;
  if constexpr (Code / 2 == 5) truth = (s & status::pf) != 0;
  if constexpr (Code / 2 == 6) truth = ((s >> 15 ^ s) & 1) != 0;
  if constexpr (Code / 2 == 7) truth = (((s >> 15 ^ s) & 1) | (s & status::zf)) != 0;
  return truth != ((Code & 1) != 0);
}

// clang-format off
#define ZS_BINARY(NAME, MNEMONIC)                                                                   \
  struct NAME {                                                                                     \
    static constexpr bool kWrites = true;                                                           \
    template <typename T> static T apply(Status& s, T a, T b) {                                     \
      __asm__(MNEMONIC " %[b], %[a]\n\tlahf\n\tseto %%al" : [a] "+r"(a), "=a"(s) : [b] "r"(b) : "cc"); \
      return a;                                                                                     \
    }                                                                                               \
  };
#define ZS_COMPARE(NAME, MNEMONIC)                                                                  \
  struct NAME {                                                                                     \
    static constexpr bool kWrites = false;                                                          \
    template <typename T> static T apply(Status& s, T a, T b) {                                     \
      __asm__(MNEMONIC " %[b], %[a]\n\tlahf\n\tseto %%al" : "=a"(s) : [a] "r"(a), [b] "r"(b) : "cc");  \
      return a;                                                                                     \
    }                                                                                               \
  };
#define ZS_WITH_CARRY(NAME, MNEMONIC)                                                               \
  struct NAME {                                                                                     \
    static constexpr bool kWrites = true;                                                           \
    template <typename T> static T apply(Status& s, T a, T b) {                                     \
      Status out;                                                                                   \
      const auto carry = static_cast<std::uint8_t>(s >> 8 & 1);                                     \
      __asm__("movb %[c], %%al\n\taddb $-1, %%al\n\t" MNEMONIC " %[b], %[a]\n\tlahf\n\tseto %%al"      \
              : [a] "+r"(a), "=&a"(out) : [b] "r"(b), [c] "r"(carry) : "cc");                       \
      s = out;                                                                                      \
      return a;                                                                                     \
    }                                                                                               \
  };
#define ZS_UNARY(NAME, MNEMONIC, KEEPS)                                                             \
  struct NAME {                                                                                     \
    template <typename T> static T apply(Status& s, T a) {                                          \
      Status out;                                                                                   \
      __asm__(MNEMONIC " %[a]\n\tlahf\n\tseto %%al" : [a] "+r"(a), "=a"(out) : : "cc");                \
      s = static_cast<Status>((out & ~(KEEPS)) | (s & (KEEPS)));                                    \
      return a;                                                                                     \
    }                                                                                               \
  };
// A shift by zero, after masking, leaves all flags; rotations change CF and OF alone.
#define ZS_ROTATE(NAME, MNEMONIC)                                                                   \
  struct NAME {                                                                                     \
    template <typename T> static T apply(Status& s, T a, std::uint8_t count) {                      \
      if ((count & (sizeof(T) == 8 ? 63 : 31)) == 0) return a;                                      \
      Status out;                                                                                   \
      const auto carry = static_cast<std::uint8_t>(s >> 8 & 1);                                     \
      __asm__("movb %[c], %%al\n\taddb $-1, %%al\n\t" MNEMONIC " %%cl, %[a]\n\tlahf\n\tseto %%al"      \
              : [a] "+r"(a), "=&a"(out) : "c"(count), [c] "r"(carry) : "cc");                       \
      constexpr Status kChanged = status::cf | status::of;                                          \
      s = static_cast<Status>((out & kChanged) | (s & ~kChanged));                                  \
      return a;                                                                                     \
    }                                                                                               \
  };
#define ZS_PLAIN_SHIFT(NAME, MNEMONIC)                                                              \
  struct NAME {                                                                                     \
    template <typename T> static T apply(Status& s, T a, std::uint8_t count) {                      \
      if ((count & (sizeof(T) == 8 ? 63 : 31)) == 0) return a;                                      \
      __asm__(MNEMONIC " %%cl, %[a]\n\tlahf\n\tseto %%al" : [a] "+r"(a), "=a"(s) : "c"(count) : "cc"); \
      return a;                                                                                     \
    }                                                                                               \
  };
#define ZS_DOUBLE_SHIFT(NAME, MNEMONIC)                                                             \
  struct NAME {                                                                                     \
    template <typename T> static T apply(Status& s, T a, T b, std::uint8_t count) {                 \
      if ((count & (sizeof(T) == 8 ? 63 : 31)) == 0) return a;                                      \
      __asm__(MNEMONIC " %%cl, %[b], %[a]\n\tlahf\n\tseto %%al"                                       \
              : [a] "+r"(a), "=a"(s) : [b] "r"(b), "c"(count) : "cc");                              \
      return a;                                                                                     \
    }                                                                                               \
  };
ZS_BINARY(Add, "add")
ZS_BINARY(Sub, "sub")
ZS_BINARY(And, "and")
ZS_BINARY(Or, "or")
ZS_BINARY(Xor, "xor")
ZS_WITH_CARRY(Adc, "adc")
ZS_COMPARE(Cmp, "cmp")
ZS_COMPARE(Test, "test")
ZS_UNARY(Inc, "inc", status::cf)
ZS_UNARY(Dec, "dec", status::cf)
ZS_UNARY(Neg, "neg", 0)
ZS_PLAIN_SHIFT(Shl, "shl")
ZS_PLAIN_SHIFT(Shr, "shr")
ZS_PLAIN_SHIFT(Sar, "sar")
ZS_ROTATE(Rol, "rol")
ZS_ROTATE(Ror, "ror")
ZS_ROTATE(Rcl, "rcl")
ZS_ROTATE(Rcr, "rcr")
ZS_DOUBLE_SHIFT(Shld, "shld")
ZS_DOUBLE_SHIFT(Shrd, "shrd")
#undef ZS_BINARY
#undef ZS_COMPARE
#undef ZS_WITH_CARRY
#undef ZS_UNARY
#undef ZS_ROTATE
#undef ZS_PLAIN_SHIFT
#undef ZS_DOUBLE_SHIFT
// clang-format on

/// The borrow is wanted in CF before SBB, as ADC wants the carry.
struct Sbb {
  static constexpr bool kWrites = true;
  template <typename T>
  static T apply(Status& s, T a, T b) {
    Status out;
    const auto carry = static_cast<std::uint8_t>(s >> 8 & 1);
    __asm__("movb %[c], %%al\n\taddb $-1, %%al\n\tsbb %[b], %[a]\n\tlahf\n\tseto %%al"
            : [a] "+r"(a), "=&a"(out)
            : [b] "r"(b), [c] "r"(carry)
            : "cc");
    s = out;
    return a;
  }
};

struct Not {
  template <typename T>
  static T apply(Status&, T a) {
    return static_cast<T>(~a);
  }
};

}  // namespace zs::machine::vcpu
