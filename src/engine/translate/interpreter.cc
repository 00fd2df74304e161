#include "engine/translate/interpreter.h"

#include <array>
#include <cstring>
#include <utility>

#include "engine/isa_names.h"
#include "engine/translate/context.h"
#include "engine/translate/in_place_access.h"
#include "isa/condition.h"
#include "isa/flag_writer.h"

// -mno-red-zone (dependencies.cmake): flags are pushed and popped below what the compiler knows of the stack. -Os there, and operand sizes
// as numbers instead of types: this runs seldom and so from a cold cache, and what counts is how many lines of it there are.

namespace zs::engine {
namespace {

/// CF PF AF ZF SF OF.
constexpr std::uint64_t kStatusFlags = 0x8D5;

/// One instruction, as far as it has been read.
struct Reading {
  InterpretedState& state;
  const std::uint8_t* code;
  unsigned at = 0;  // of the next byte
  unsigned opcode = 0;
  unsigned rex = 0;     // 0100WRXB; 0: none
  unsigned repeat = 0;  // F2h, F3h; 0: neither
  bool word = false;    // 66h
  bool fs = false;      // 64h
  // Of ModRM:
  unsigned reg = 0, rm = 0;
  bool in_memory = false;
  std::uint64_t address = 0;

  bool wide() const { return (rex & 8u) != 0; }
};

using Handler = bool (*)(Reading&);

template <typename T>
T number_at(const Reading& in, unsigned at) {
  T value;
  std::memcpy(&value, in.code + at, sizeof value);
  return value;
}

// ---- operands ----------------------------------------------------------------------------------------------------

/// Reads ModRM and what belongs to it. immediate: bytes of the instruction that follow them.
void read_modrm(Reading& in, unsigned immediate = 0) {
  const unsigned modrm = in.code[in.at++];
  const unsigned mod = modrm >> 6;
  in.reg = (modrm >> 3 & 7u) | (in.rex << 1 & 8u);
  in.rm = (modrm & 7u) | (in.rex << 3 & 8u);
  in.in_memory = mod != 3;
  if (!in.in_memory) return;
  const auto& gpr = in.state.gpr;
  std::uint64_t address = 0;
  unsigned base = in.rm;
  bool has_base = true;
  if ((modrm & 7u) == 4) {
    const unsigned sib = in.code[in.at++];
    const unsigned index = (sib >> 3 & 7u) | (in.rex << 2 & 8u);
    if (index != kRsp) address += gpr[index] << (sib >> 6);
    base = (sib & 7u) | (in.rex << 3 & 8u);
    has_base = (sib & 7u) != 5 || mod != 0;
    if (!has_base) address += static_cast<std::uint64_t>(std::int64_t{number_at<std::int32_t>(in, in.at)});
  } else if ((modrm & 7u) == 5 && mod == 0) {
    has_base = false;
    address += static_cast<std::uint64_t>(std::int64_t{number_at<std::int32_t>(in, in.at)}) + in.state.pc + in.at + 4 +
               immediate;
  }
  if (!has_base) {
    in.at += 4;
  } else {
    address += gpr[base];
    if (mod == 1) address += static_cast<std::uint64_t>(std::int64_t{number_at<std::int8_t>(in, in.at)});
    if (mod == 2) address += static_cast<std::uint64_t>(std::int64_t{number_at<std::int32_t>(in, in.at)});
    in.at += mod == 1 ? 1 : mod == 2 ? 4 : 0;
  }
  if (in.fs) address += in.state.fs;
  in.address = address;
}

constexpr std::uint64_t mask_of(unsigned bytes) { return ~std::uint64_t{0} >> (64 - 8 * bytes); }

std::uint64_t sign_extended(std::uint64_t value, unsigned bytes) {
  const unsigned unused = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

/// Without REX, byte registers 4 to 7 are AH CH DH BH.
bool is_high_byte(const Reading& in, unsigned number, unsigned bytes) {
  return bytes == 1 && in.rex == 0 && number >= 4;
}

/// Zero-extended, as all values of operands are.
std::uint64_t register_value(const Reading& in, unsigned number, unsigned bytes) {
  if (is_high_byte(in, number, bytes)) return in.state.gpr[number - 4] >> 8 & 0xFF;
  return in.state.gpr[number] & mask_of(bytes);
}

void set_register(const Reading& in, unsigned number, std::uint64_t value, unsigned bytes) {
  const bool high = is_high_byte(in, number, bytes);
  std::uint64_t& gpr = in.state.gpr[high ? number - 4 : number];
  const unsigned shift = high ? 8 : 0;
  const std::uint64_t mask = bytes == 4 ? ~std::uint64_t{0} : mask_of(bytes) << shift;
  gpr = (gpr & ~mask) | (value << shift & mask);
}

bool load(const Reading& in, std::uint64_t& value, unsigned bytes) {
  if (!in.in_memory) return value = register_value(in, in.rm, bytes), true;
  const InPlaceAccess access = load_in_place(in.address, bytes);
  value = access.value;
  return access.done != 0;
}

bool store(const Reading& in, std::uint64_t value, unsigned bytes) {
  if (in.in_memory) return store_in_place(in.address, value, bytes);
  return set_register(in, in.rm, value, bytes), true;
}

/// 4 bytes, 2 with 66h, 8 with REX.W.
unsigned operand_bytes(const Reading& in) { return in.wide() ? 8 : in.word ? 2 : 4; }
/// The same, 1 byte where the opcode's lowest bit is not set.
unsigned opcode_bytes(const Reading& in) { return (in.opcode & 1u) == 0 ? 1 : operand_bytes(in); }

unsigned opcode_register(const Reading& in) { return (in.opcode & 7u) | (in.rex << 3 & 8u); }

/// Of an immediate of an operand of so many bytes.
constexpr unsigned immediate_bytes(unsigned bytes) { return bytes == 8 ? 4 : bytes; }

/// The next `bytes` of the instruction, sign-extended.
std::uint64_t signed_immediate(Reading& in, unsigned bytes) {
  std::uint64_t value = 0;
  switch (bytes) {
    case 1: value = in.code[in.at]; break;
    case 2: value = number_at<std::uint16_t>(in, in.at); break;
    case 4: value = number_at<std::uint32_t>(in, in.at); break;
    default: value = number_at<std::uint64_t>(in, in.at); break;
  }
  in.at += bytes;
  return sign_extended(value, bytes);
}

/// An operand of so many bytes.
std::uint64_t immediate(Reading& in, unsigned bytes) {
  return signed_immediate(in, immediate_bytes(bytes)) & mask_of(bytes);
}

std::uint64_t immediate8(Reading& in, unsigned bytes) { return signed_immediate(in, 1) & mask_of(bytes); }

void go_on(Reading& in) { in.state.pc += in.at; }

bool done(Reading& in) {
  go_on(in);
  return true;
}

bool done(Reading& in, std::uint64_t flags) {
  in.state.flags = (in.state.flags & ~kStatusFlags) | (flags & kStatusFlags);
  return done(in);
}

std::uint64_t status_of(const Reading& in) { return in.state.flags & kStatusFlags; }

// ---- arithmetic --------------------------------------------------------------------------------------------------

constexpr std::uint64_t kCarry = 1, kParity = 4, kAdjust = 0x10, kZero = 0x40, kSign = 0x80, kOverflow = 0x800;

/// SF ZF PF of a result.
std::uint64_t flags_of(std::uint64_t result, unsigned bytes) {
  std::uint64_t flags = 0;
  if (result == 0) flags |= kZero;
  if ((result >> (8 * bytes - 1) & 1u) != 0) flags |= kSign;
  if (__builtin_parity(static_cast<unsigned>(result & 0xFF)) == 0) flags |= kParity;
  return flags;
}

enum Alu : unsigned { kAdd, kOr, kAdc, kSbb, kAnd, kSub, kXor, kCmp, kTest };

/// `flags`: the status flags before it and behind it.
/// source: SDM vol. 2, the pages of ADD, ADC, SUB, SBB, CMP, AND, OR, XOR and TEST. AF behind the last four is undefined there; 0, where
/// logic_writes_af() says so.
std::uint64_t alu(unsigned operation, std::uint64_t a, std::uint64_t b, std::uint64_t& flags, unsigned bytes) {
  const std::uint64_t mask = mask_of(bytes);
  const auto top = [bytes](std::uint64_t value) { return (value >> (8 * bytes - 1) & 1u) != 0; };
  std::uint64_t carry = 0, result = 0;
  bool carries = false, overflows = false;
  switch (operation) {
    case kAdc: carry = flags & kCarry; [[fallthrough]];
    case kAdd:
      result = (a + b + carry) & mask;
      carries = result < a || (carry != 0 && result == a);
      overflows = top((a ^ result) & (b ^ result));
      break;
    case kSbb: carry = flags & kCarry; [[fallthrough]];
    case kSub:
    case kCmp:
      result = (a - b - carry) & mask;
      carries = a < b || (carry != 0 && a == b);
      overflows = top((a ^ b) & (a ^ result));
      break;
    default:
      result = operation == kOr ? a | b : operation == kXor ? a ^ b : a & b;
      flags = flags_of(result, bytes);
      return result;
  }
  flags = flags_of(result, bytes) | ((a ^ b ^ result) & kAdjust);
  if (carries) flags |= kCarry;
  if (overflows) flags |= kOverflow;
  return result;
}

/// What the manual leaves undefined is the host's: its own instruction, with the status flags of `flags` before it, and its own there
/// behind it.
#define ZS_HOST(instruction) "pushq %[flags]\n\tpopfq\n\t" instruction "\n\tpushfq\n\tpopq %[flags]"
#define ZS_SHIFT(number, instruction) \
  case number: asm(ZS_HOST(instruction " %%cl, %[a]") : [a] "+r"(a), [flags] "+r"(flags) : "c"(count) : "cc"); break

template <typename T>
T shift(unsigned operation, T a, std::uint8_t count, std::uint64_t& flags) {
  switch (operation) {
    ZS_SHIFT(0, "rol");
    ZS_SHIFT(1, "ror");
    ZS_SHIFT(2, "rcl");
    ZS_SHIFT(3, "rcr");
    ZS_SHIFT(4, "shl");
    ZS_SHIFT(5, "shr");
    ZS_SHIFT(7, "sar");
  }
  return a;
}

template <typename T>
T multiply(T a, T b, std::uint64_t& flags) {
  asm(ZS_HOST("imul %[b], %[a]") : [a] "+r"(a), [flags] "+r"(flags) : [b] "r"(b) : "cc");
  return a;
}

template <typename T>
void multiply_long(bool with_sign, T& low, T& high, T b, std::uint64_t& flags) {
  if (with_sign)
    asm(ZS_HOST("imul %[b]") : "+a"(low), "+d"(high), [flags] "+r"(flags) : [b] "r"(b) : "cc");
  else
    asm(ZS_HOST("mul %[b]") : "+a"(low), "+d"(high), [flags] "+r"(flags) : [b] "r"(b) : "cc");
}

template <typename T>
void test_bit(T a, T b, std::uint64_t& flags) {
  asm(ZS_HOST("bt %[b], %[a]") : [flags] "+r"(flags) : [a] "r"(a), [b] "r"(b) : "cc");
}

/// Of a number that is not 0.
std::uint64_t trailing_zeros(std::uint64_t from, std::uint64_t& flags) {
  std::uint64_t to = 0;
  asm(ZS_HOST("tzcnt %[b], %[a]") : [a] "+r"(to), [flags] "+r"(flags) : [b] "r"(from) : "cc");
  return to;
}
std::uint64_t lowest_bit(std::uint64_t from, std::uint64_t& flags) {
  std::uint64_t to = 0;
  asm(ZS_HOST("bsf %[b], %[a]") : [a] "+r"(to), [flags] "+r"(flags) : [b] "r"(from) : "cc");
  return to;
}
std::uint64_t highest_bit(std::uint64_t from, std::uint64_t& flags) {
  std::uint64_t to = 0;
  asm(ZS_HOST("bsr %[b], %[a]") : [a] "+r"(to), [flags] "+r"(flags) : [b] "r"(from) : "cc");
  return to;
}

#undef ZS_SHIFT
#undef ZS_HOST

/// what(T{}) with the unsigned type of so many bytes.
template <typename Do>
void with_type(unsigned bytes, Do what) {
  switch (bytes) {
    case 1: return what(std::uint8_t{});
    case 2: return what(std::uint16_t{});
    case 4: return what(std::uint32_t{});
    default: return what(std::uint64_t{});
  }
}

// ---- general registers -------------------------------------------------------------------------------------------

/// The operand at ModRM.rm becomes what the operation makes of it and `b`, but for the two that only compare.
bool alu_to_rm(Reading& in, unsigned operation, std::uint64_t b, unsigned bytes) {
  std::uint64_t a;
  if (!load(in, a, bytes)) return false;
  std::uint64_t flags = status_of(in);
  const std::uint64_t result = alu(operation, a, b, flags, bytes);
  if (operation < kCmp && !store(in, result, bytes)) return false;
  return done(in, flags);
}

bool alu_to_register(Reading& in, unsigned operation, unsigned number, std::uint64_t b, unsigned bytes) {
  std::uint64_t flags = status_of(in);
  const std::uint64_t result = alu(operation, register_value(in, number, bytes), b, flags, bytes);
  if (operation < kCmp) set_register(in, number, result, bytes);
  return done(in, flags);
}

bool alu_rm_reg(Reading& in) {
  read_modrm(in);
  const unsigned bytes = opcode_bytes(in);
  return alu_to_rm(in, in.opcode >> 3, register_value(in, in.reg, bytes), bytes);
}

bool alu_reg_rm(Reading& in) {
  read_modrm(in);
  const unsigned bytes = opcode_bytes(in);
  std::uint64_t b;
  return load(in, b, bytes) && alu_to_register(in, in.opcode >> 3, in.reg, b, bytes);
}

bool alu_accumulator(Reading& in) {
  const unsigned bytes = opcode_bytes(in);
  return alu_to_register(in, in.opcode >> 3, kRax, immediate(in, bytes), bytes);
}

bool alu_immediate(Reading& in) {
  const unsigned bytes = opcode_bytes(in);
  const bool short_form = in.opcode == 0x83;
  read_modrm(in, short_form ? 1 : immediate_bytes(bytes));
  const std::uint64_t b = short_form ? immediate8(in, bytes) : immediate(in, bytes);
  return alu_to_rm(in, in.reg & 7u, b, bytes);
}

bool test_rm_reg(Reading& in) {
  read_modrm(in);
  const unsigned bytes = opcode_bytes(in);
  return alu_to_rm(in, kTest, register_value(in, in.reg, bytes), bytes);
}

bool test_accumulator(Reading& in) {
  const unsigned bytes = opcode_bytes(in);
  return alu_to_register(in, kTest, kRax, immediate(in, bytes), bytes);
}

bool exchange_registers(Reading& in) {
  read_modrm(in);
  if (in.in_memory) return false;  // locked
  const unsigned bytes = opcode_bytes(in);
  const std::uint64_t a = register_value(in, in.rm, bytes), b = register_value(in, in.reg, bytes);
  set_register(in, in.rm, b, bytes);
  set_register(in, in.reg, a, bytes);
  return done(in);
}

bool move_rm_reg(Reading& in) {
  read_modrm(in);
  const unsigned bytes = opcode_bytes(in);
  return store(in, register_value(in, in.reg, bytes), bytes) && done(in);
}

bool move_reg_rm(Reading& in) {
  read_modrm(in);
  const unsigned bytes = opcode_bytes(in);
  std::uint64_t value;
  if (!load(in, value, bytes)) return false;
  set_register(in, in.reg, value, bytes);
  return done(in);
}

bool move_sign_extended(Reading& in) {
  if (!in.wide()) return false;
  read_modrm(in);
  std::uint64_t value;
  if (!load(in, value, 4)) return false;
  in.state.gpr[in.reg] = sign_extended(value, 4);
  return done(in);
}

/// MOVZX, MOVSX.
bool move_extended(Reading& in) {
  read_modrm(in);
  const unsigned from = (in.opcode & 1u) != 0 ? 2 : 1, bytes = operand_bytes(in);
  std::uint64_t value;
  if (!load(in, value, from)) return false;
  if ((in.opcode & 8u) != 0) value = sign_extended(value, from) & mask_of(bytes);
  // Not set_register(): no byte register is meant.
  std::uint64_t& gpr = in.state.gpr[in.reg];
  gpr = bytes == 2 ? (gpr & ~mask_of(2)) | value : value;
  return done(in);
}

bool move_immediate(Reading& in) {
  const unsigned bytes = opcode_bytes(in);
  read_modrm(in, immediate_bytes(bytes));
  return (in.reg & 7u) == 0 && store(in, immediate(in, bytes), bytes) && done(in);
}

bool move_immediate_to_byte(Reading& in) {
  set_register(in, opcode_register(in), immediate(in, 1), 1);
  return done(in);
}

bool move_immediate_to_register(Reading& in) {
  const unsigned bytes = operand_bytes(in);
  set_register(in, opcode_register(in), signed_immediate(in, bytes) & mask_of(bytes), bytes);
  return done(in);
}

bool load_address(Reading& in) {
  read_modrm(in);
  if (!in.in_memory || in.fs) return false;
  const unsigned bytes = operand_bytes(in);
  set_register(in, in.reg, in.address & mask_of(bytes), bytes);
  return done(in);
}

bool nothing(Reading& in) {
  return in.repeat == 0 && (in.rex & 1u) == 0 && done(in);  // else PAUSE, or XCHG with R8
}

/// CBW, CWDE, CDQE.
bool extend_accumulator(Reading& in) {
  const unsigned bytes = operand_bytes(in);
  set_register(in, kRax, sign_extended(in.state.gpr[kRax], bytes / 2) & mask_of(bytes), bytes);
  return done(in);
}

/// CWD, CDQ, CQO.
bool sign_of_accumulator(Reading& in) {
  const unsigned bytes = operand_bytes(in);
  const bool negative = (in.state.gpr[kRax] >> (8 * bytes - 1) & 1u) != 0;
  set_register(in, kRdx, negative ? mask_of(bytes) : 0, bytes);
  return done(in);
}

bool shift_rm(Reading& in, std::uint8_t count) {
  constexpr unsigned kUndocumented = 6;
  const unsigned bytes = opcode_bytes(in), operation = in.reg & 7u;
  std::uint64_t a;
  if (operation == kUndocumented || !load(in, a, bytes)) return false;
  std::uint64_t flags = status_of(in);
  with_type(bytes, [&]<typename T>(T) { a = shift(operation, static_cast<T>(a), count, flags); });
  return store(in, a, bytes) && done(in, flags);
}

/// Rotations by more than 1 leave OF undefined, and there are processors (Intel's of family 6, model 207) that set it one way for a count in
/// CL, which is how shift() does it, and another for one in the instruction.
bool shift_by_immediate(Reading& in) {
  constexpr unsigned kFirstShift = 4;  // ROL, ROR, RCL and RCR lie before it
  read_modrm(in, 1);
  const std::uint8_t count = in.code[in.at++];
  if ((in.reg & 7u) < kFirstShift && count > 1) return false;
  return shift_rm(in, count);
}

bool shift_by_one(Reading& in) {
  read_modrm(in);
  return shift_rm(in, 1);
}

bool shift_by_cl(Reading& in) {
  read_modrm(in);
  return shift_rm(in, static_cast<std::uint8_t>(in.state.gpr[kRcx]));
}

/// INC, DEC: as an addition, which leaves CF alone.
bool step_rm(Reading& in, unsigned operation) {
  const unsigned bytes = opcode_bytes(in);
  std::uint64_t a;
  if (!load(in, a, bytes)) return false;
  std::uint64_t flags = 0;
  const std::uint64_t result = alu(operation, a, 1, flags, bytes);
  return store(in, result, bytes) && done(in, (flags & ~kCarry) | (in.state.flags & kCarry));
}

bool negate_rm(Reading& in) {
  const unsigned bytes = opcode_bytes(in);
  std::uint64_t a;
  if (!load(in, a, bytes)) return false;
  std::uint64_t flags = 0;
  const std::uint64_t result = alu(kSub, 0, a, flags, bytes);
  return store(in, result, bytes) && done(in, flags);
}

bool invert_rm(Reading& in) {
  const unsigned bytes = opcode_bytes(in);
  std::uint64_t a;
  return load(in, a, bytes) && store(in, ~a & mask_of(bytes), bytes) && done(in);
}

bool multiply_accumulator(Reading& in, bool with_sign) {
  const unsigned bytes = opcode_bytes(in);
  std::uint64_t b;
  if (bytes == 1 || !load(in, b, bytes)) return false;
  std::uint64_t flags = status_of(in);
  with_type(bytes, [&]<typename T>(T) {
    if constexpr (sizeof(T) != 1) {
      T low = static_cast<T>(in.state.gpr[kRax]), high = static_cast<T>(in.state.gpr[kRdx]);
      multiply_long(with_sign, low, high, static_cast<T>(b), flags);
      set_register(in, kRax, low, bytes);
      set_register(in, kRdx, high, bytes);
    }
  });
  return done(in, flags);
}

/// Divisions, which may fault, are left.
bool group3(Reading& in) {
  const unsigned member = in.code[in.at] >> 3 & 7u, bytes = opcode_bytes(in);
  read_modrm(in, member == 0 ? immediate_bytes(bytes) : 0);
  switch (member) {
    case 0: return alu_to_rm(in, kTest, immediate(in, bytes), bytes);
    case 2: return invert_rm(in);
    case 3: return negate_rm(in);
    case 4:
    case 5: return multiply_accumulator(in, member == 5);
    default: return false;
  }
}

bool multiply_to_reg(Reading& in, std::uint64_t a, std::uint64_t b, unsigned bytes) {
  std::uint64_t flags = status_of(in);
  with_type(bytes, [&]<typename T>(T) {
    if constexpr (sizeof(T) != 1) a = multiply(static_cast<T>(a), static_cast<T>(b), flags);
  });
  set_register(in, in.reg, a, bytes);
  return done(in, flags);
}

bool multiply_by_immediate(Reading& in) {
  const unsigned bytes = operand_bytes(in);
  const bool short_form = in.opcode == 0x6B;
  read_modrm(in, short_form ? 1 : immediate_bytes(bytes));
  const std::uint64_t b = short_form ? immediate8(in, bytes) : immediate(in, bytes);
  std::uint64_t a;
  return load(in, a, bytes) && multiply_to_reg(in, a, b, bytes);
}

bool multiply_reg_rm(Reading& in) {
  read_modrm(in);
  const unsigned bytes = operand_bytes(in);
  std::uint64_t b;
  return load(in, b, bytes) && multiply_to_reg(in, register_value(in, in.reg, bytes), b, bytes);
}

bool swap_bytes(Reading& in) {
  if (in.word) return false;
  std::uint64_t& gpr = in.state.gpr[opcode_register(in)];
  gpr = in.wide() ? __builtin_bswap64(gpr) : __builtin_bswap32(static_cast<std::uint32_t>(gpr));
  return done(in);
}

bool test_bit_of(Reading& in, std::uint64_t a, std::uint64_t bit, unsigned bytes) {
  std::uint64_t flags = status_of(in);
  with_type(bytes, [&]<typename T>(T) {
    if constexpr (sizeof(T) != 1) test_bit(static_cast<T>(a), static_cast<T>(bit), flags);
  });
  return done(in, flags);
}

/// In memory, the bit may be far from the operand.
bool test_bit_of_register(Reading& in) {
  read_modrm(in);
  const unsigned bytes = operand_bytes(in);
  return !in.in_memory && test_bit_of(in, register_value(in, in.rm, bytes), register_value(in, in.reg, bytes), bytes);
}

bool test_bit_by_immediate(Reading& in) {
  read_modrm(in, 1);
  constexpr unsigned kBt = 4;
  if ((in.reg & 7u) != kBt) return false;
  const unsigned bytes = operand_bytes(in), bit = in.code[in.at++] % (8 * bytes);
  std::uint64_t a;
  return load(in, a, bytes) && test_bit_of(in, a, bit, bytes);
}

/// BSF, BSR, TZCNT; of a processor without TZCNT, what it makes of that.
bool scan_bits(Reading& in) {
  const bool counts = in.repeat == 0xF3, reverse = in.opcode == 0xBD;
  if ((in.repeat != 0 && !counts) || (counts && reverse)) return false;
  read_modrm(in);
  const unsigned bytes = operand_bytes(in);
  std::uint64_t from;
  // Of 0, what becomes of the register is not told.
  if (bytes == 2 || !load(in, from, bytes) || from == 0) return false;
  std::uint64_t flags = status_of(in);
  const std::uint64_t to = counts    ? trailing_zeros(from, flags)
                           : reverse ? highest_bit(from, flags)
                                     : lowest_bit(from, flags);
  set_register(in, in.reg, to, bytes);
  return done(in, flags);
}

bool move_if(Reading& in) {
  read_modrm(in);
  const unsigned bytes = operand_bytes(in);
  std::uint64_t value;
  if (!load(in, value, bytes)) return false;
  if (!holds(in.opcode & 15u, in.state.flags)) value = register_value(in, in.reg, bytes);
  set_register(in, in.reg, value, bytes);
  return done(in);
}

bool set_if(Reading& in) {
  read_modrm(in);
  return store(in, holds(in.opcode & 15u, in.state.flags) ? 1 : 0, 1) && done(in);
}

bool no_operation(Reading& in) {
  read_modrm(in);
  return done(in);
}

/// F3 0F 1E FA.
bool end_branch(Reading& in) { return in.repeat == 0xF3 && in.code[in.at++] == 0xFA && done(in); }

// ---- the stack and control ---------------------------------------------------------------------------------------

bool push(Reading& in, std::uint64_t value) {
  const std::uint64_t top = in.state.gpr[kRsp] - 8;
  if (in.word || !store_in_place(top, value, 8)) return false;
  in.state.gpr[kRsp] = top;
  return true;
}

bool pop(Reading& in, std::uint64_t& value) {
  const InPlaceAccess top = load_in_place(in.state.gpr[kRsp], 8);
  if (in.word || top.done == 0) return false;
  in.state.gpr[kRsp] += 8;
  value = top.value;
  return true;
}

bool push_register(Reading& in) { return push(in, in.state.gpr[opcode_register(in)]) && done(in); }

bool push_immediate(Reading& in) { return push(in, signed_immediate(in, in.opcode == 0x6A ? 1 : 4)) && done(in); }

bool pop_register(Reading& in) {
  std::uint64_t value;
  if (!pop(in, value)) return false;
  in.state.gpr[opcode_register(in)] = value;
  return done(in);
}

bool leave(Reading& in) {
  const std::uint64_t frame = in.state.gpr[kRbp];
  const InPlaceAccess top = load_in_place(frame, 8);
  if (in.word || top.done == 0) return false;
  in.state.gpr[kRsp] = frame + 8;
  in.state.gpr[kRbp] = top.value;
  return done(in);
}

bool jump_if(Reading& in, unsigned displacement_bytes) {
  const std::uint64_t displacement = signed_immediate(in, displacement_bytes);
  if (in.word) return false;
  go_on(in);
  if (holds(in.opcode & 15u, in.state.flags)) in.state.pc += displacement;
  return true;
}

bool jump_if_short(Reading& in) { return jump_if(in, 1); }
bool jump_if_near(Reading& in) { return jump_if(in, 4); }

bool jump(Reading& in) {
  const std::uint64_t displacement = signed_immediate(in, in.opcode == 0xEB ? 1 : 4);
  if (in.word) return false;
  go_on(in);
  in.state.pc += displacement;
  return true;
}

bool call(Reading& in) {
  const std::uint64_t displacement = signed_immediate(in, 4);
  if (!push(in, in.state.pc + in.at)) return false;
  go_on(in);
  in.state.pc += displacement;
  return true;
}

bool ret(Reading& in) { return pop(in, in.state.pc); }

/// Groups 4 and 5. Far transfers are left.
bool group5(Reading& in) {
  read_modrm(in);
  const unsigned member = in.reg & 7u;
  if (member == 0) return step_rm(in, kAdd);
  if (member == 1) return step_rm(in, kSub);
  std::uint64_t value;
  if ((in.opcode & 1u) == 0 || in.word || !load(in, value, 8)) return false;
  switch (member) {
    case 2:
      if (!push(in, in.state.pc + in.at)) return false;
      in.state.pc = value;
      return true;
    case 4: in.state.pc = value; return true;
    case 6: return push(in, value) && done(in);
    default: return false;
  }
}

// ---- moves of vectors --------------------------------------------------------------------------------------------

/// One of XMM0 to XMM15. What is above it stays as it is.
struct Vector {
  std::uint64_t low = 0, high = 0;
};

constexpr std::size_t kVectors = 160, kVectorsInUse = 512;  // in the area, source: SDM vol. 1, "XSAVE Area"
constexpr std::uint64_t kSse = 2;

bool vectors_in_use(const Reading& in) {
  std::uint64_t used;
  std::memcpy(&used, in.state.xsave + kVectorsInUse, sizeof used);
  return (used & kSse) != 0;
}

Vector vector_value(const Reading& in, unsigned number) {
  Vector value;
  if (vectors_in_use(in)) std::memcpy(&value, in.state.xsave + kVectors + number * sizeof value, sizeof value);
  return value;
}

void set_vector(const Reading& in, unsigned number, Vector value) {
  if (!vectors_in_use(in)) {  // all are 0, whatever stands there
    std::memset(in.state.xsave + kVectors, 0, 16 * sizeof value);
    std::uint64_t used;
    std::memcpy(&used, in.state.xsave + kVectorsInUse, sizeof used);
    used |= kSse;
    std::memcpy(in.state.xsave + kVectorsInUse, &used, sizeof used);
  }
  std::memcpy(in.state.xsave + kVectors + number * sizeof value, &value, sizeof value);
}

enum class Aligned : bool { No, Yes };

bool may_access(const Reading& in, Aligned aligned) {
  return aligned == Aligned::No || in.address % sizeof(Vector) == 0;
}

bool load_vector(const Reading& in, Vector& value, Aligned aligned) {
  if (!in.in_memory) return value = vector_value(in, in.rm), true;
  return may_access(in, aligned) && zs_in_place_load16(in.address, &value).done != 0;
}

bool store_vector(const Reading& in, const Vector& value, Aligned aligned) {
  if (!in.in_memory) return set_vector(in, in.rm, value), true;
  return may_access(in, aligned) && zs_in_place_store16(in.address, &value).done != 0;
}

/// Of the operand at ModRM.rm.
bool load_low(const Reading& in, std::uint64_t& low, unsigned bytes) {
  if (!in.in_memory) return low = vector_value(in, in.rm).low & mask_of(bytes), true;
  const InPlaceAccess access = load_in_place(in.address, bytes);
  low = access.value;
  return access.done != 0;
}

bool move_whole(Reading& in, bool stores, Aligned aligned) {
  read_modrm(in);
  if (stores) return store_vector(in, vector_value(in, in.reg), aligned) && done(in);
  Vector value;
  if (!load_vector(in, value, aligned)) return false;
  set_vector(in, in.reg, value);
  return done(in);
}

/// One element at the low end: 4 or 8 bytes. From memory the rest becomes 0, from a register it stays.
bool move_low(Reading& in, bool stores, unsigned bytes) {
  read_modrm(in);
  const std::uint64_t mask = mask_of(bytes);
  if (in.in_memory && stores) return store_in_place(in.address, vector_value(in, in.reg).low, bytes) && done(in);
  if (in.in_memory) {
    std::uint64_t low;
    if (!load_low(in, low, bytes)) return false;
    set_vector(in, in.reg, {.low = low});
    return done(in);
  }
  const unsigned from = stores ? in.reg : in.rm, to = stores ? in.rm : in.reg;
  Vector value = vector_value(in, to);
  value.low = (value.low & ~mask) | (vector_value(in, from).low & mask);
  set_vector(in, to, value);
  return done(in);
}

/// 0F 10, 0F 11.
bool move_unaligned(Reading& in) {
  const bool stores = (in.opcode & 1u) != 0;
  if (in.repeat != 0) return !in.word && move_low(in, stores, in.repeat == 0xF3 ? 4 : 8);
  return move_whole(in, stores, Aligned::No);
}

/// 0F 28, 0F 29.
bool move_aligned(Reading& in) { return in.repeat == 0 && move_whole(in, (in.opcode & 1u) != 0, Aligned::Yes); }

/// 0F 6F, 0F 7F.
bool move_integers(Reading& in) {
  const bool stores = in.opcode == 0x7F;
  if (in.repeat == 0xF3 && !in.word) return move_whole(in, stores, Aligned::No);
  return in.repeat == 0 && in.word && move_whole(in, stores, Aligned::Yes);
}

/// 0F 12, 0F 13, 0F 16, 0F 17: a half to or from memory, or between registers to its other end.
bool move_half(Reading& in) {
  if (in.repeat != 0) return false;
  read_modrm(in);
  const bool high = (in.opcode & 4u) != 0;
  Vector value = vector_value(in, in.reg);
  std::uint64_t& half = high ? value.high : value.low;
  if (in.in_memory && (in.opcode & 1u) != 0) return store_in_place(in.address, half, 8) && done(in);
  if (in.in_memory) {
    if (!load_low(in, half, 8)) return false;
  } else {
    if (in.word || (in.opcode & 1u) != 0) return false;
    const Vector other = vector_value(in, in.rm);
    half = high ? other.low : other.high;
  }
  set_vector(in, in.reg, value);
  return done(in);
}

/// 66 0F 6E: from a general register or memory, the rest becomes 0.
bool move_to_vector(Reading& in) {
  if (in.repeat != 0 || !in.word) return false;
  read_modrm(in);
  std::uint64_t low;
  if (!load(in, low, in.wide() ? 8 : 4)) return false;
  set_vector(in, in.reg, {.low = low});
  return done(in);
}

/// 66 0F 7E, back; F3 0F 7E, 8 bytes to a vector.
bool move_from_vector(Reading& in) {
  if (in.repeat == 0 && in.word) {
    read_modrm(in);
    const std::uint64_t low = vector_value(in, in.reg).low;
    const unsigned bytes = in.wide() ? 8 : 4;
    return store(in, low & mask_of(bytes), bytes) && done(in);
  }
  if (in.repeat != 0xF3 || in.word) return false;
  read_modrm(in);
  std::uint64_t low;
  if (!load_low(in, low, 8)) return false;
  set_vector(in, in.reg, {.low = low});
  return done(in);
}

/// 66 0F D6.
bool store_low(Reading& in) {
  if (in.repeat != 0 || !in.word) return false;
  read_modrm(in);
  const std::uint64_t low = vector_value(in, in.reg).low;
  if (in.in_memory) return store_in_place(in.address, low, 8) && done(in);
  set_vector(in, in.rm, {.low = low});
  return done(in);
}

template <Vector (*kOperation)(Vector, Vector)>
bool combine(Reading& in) {
  read_modrm(in);
  Vector other;
  if (!load_vector(in, other, Aligned::Yes)) return false;
  set_vector(in, in.reg, kOperation(vector_value(in, in.reg), other));
  return done(in);
}

Vector exclusive_or(Vector a, Vector b) { return {a.low ^ b.low, a.high ^ b.high}; }
Vector low_halves(Vector a, Vector b) { return {a.low, b.low}; }

/// 0F 57, with or without 66.
bool exclusive_or_of_floats(Reading& in) { return in.repeat == 0 && combine<exclusive_or>(in); }
bool exclusive_or_of_integers(Reading& in) { return in.repeat == 0 && in.word && combine<exclusive_or>(in); }
bool unpack_low_halves(Reading& in) { return in.repeat == 0 && in.word && combine<low_halves>(in); }

// ---- opcode maps -------------------------------------------------------------------------------------------------

struct Line {
  std::uint8_t first, last;
  Handler handler;
};

using OpcodeMap = std::array<Handler, 256>;

template <std::size_t kLines>
constexpr OpcodeMap map_of(const Line (&lines)[kLines]) {
  OpcodeMap map{};
  for (const Line& line : lines) {
    for (unsigned opcode = line.first; opcode <= line.last; ++opcode) map[opcode] = line.handler;
  }
  return map;
}

constexpr OpcodeMap kOneByte = [] {
  OpcodeMap map = map_of({
      {0x50, 0x57, push_register},
      {0x58, 0x5F, pop_register},
      {0x63, 0x63, move_sign_extended},
      {0x68, 0x68, push_immediate},
      {0x69, 0x69, multiply_by_immediate},
      {0x6A, 0x6A, push_immediate},
      {0x6B, 0x6B, multiply_by_immediate},
      {0x70, 0x7F, jump_if_short},
      {0x80, 0x81, alu_immediate},
      {0x83, 0x83, alu_immediate},
      {0x84, 0x85, test_rm_reg},
      {0x86, 0x87, exchange_registers},
      {0x88, 0x89, move_rm_reg},
      {0x8A, 0x8B, move_reg_rm},
      {0x8D, 0x8D, load_address},
      {0x90, 0x90, nothing},
      {0x98, 0x98, extend_accumulator},
      {0x99, 0x99, sign_of_accumulator},
      {0xA8, 0xA9, test_accumulator},
      {0xB0, 0xB7, move_immediate_to_byte},
      {0xB8, 0xBF, move_immediate_to_register},
      {0xC0, 0xC1, shift_by_immediate},
      {0xC3, 0xC3, ret},
      {0xC6, 0xC7, move_immediate},
      {0xC9, 0xC9, leave},
      {0xD0, 0xD1, shift_by_one},
      {0xD2, 0xD3, shift_by_cl},
      {0xE8, 0xE8, call},
      {0xE9, 0xE9, jump},
      {0xEB, 0xEB, jump},
      {0xF6, 0xF7, group3},
      {0xFE, 0xFF, group5},
  });
  for (unsigned operation = kAdd; operation <= kCmp; ++operation) {
    const unsigned first = operation << 3;
    map[first] = map[first + 1] = alu_rm_reg;
    map[first + 2] = map[first + 3] = alu_reg_rm;
    map[first + 4] = map[first + 5] = alu_accumulator;
  }
  return map;
}();

/// Opcodes behind 0FH.
constexpr OpcodeMap kTwoByte = map_of({
    {0x10, 0x11, move_unaligned},
    {0x12, 0x13, move_half},
    {0x16, 0x17, move_half},
    {0x1E, 0x1E, end_branch},
    {0x1F, 0x1F, no_operation},
    {0x28, 0x29, move_aligned},
    {0x40, 0x4F, move_if},
    {0x57, 0x57, exclusive_or_of_floats},
    {0x6C, 0x6C, unpack_low_halves},
    {0x6E, 0x6E, move_to_vector},
    {0x6F, 0x6F, move_integers},
    {0x7E, 0x7E, move_from_vector},
    {0x7F, 0x7F, move_integers},
    {0x80, 0x8F, jump_if_near},
    {0x90, 0x9F, set_if},
    {0xA3, 0xA3, test_bit_of_register},
    {0xAF, 0xAF, multiply_reg_rm},
    {0xB6, 0xB7, move_extended},
    {0xBA, 0xBA, test_bit_by_immediate},
    {0xBC, 0xBD, scan_bits},
    {0xBE, 0xBF, move_extended},
    {0xC8, 0xCF, swap_bytes},
    {0xD6, 0xD6, store_low},
    {0xEF, 0xEF, exclusive_or_of_integers},
});

/// Those that a prefix F2 or F3 changes nothing of, or that ask for it themselves.
constexpr bool may_repeat(bool two_bytes, unsigned opcode) {
  if (two_bytes)
    return opcode < 0x40 || (opcode >= 0x57 && opcode < 0x80) || opcode == 0xBC || opcode == 0xD6 || opcode == 0xEF;
  return opcode == 0x90 || opcode == 0xC3;
}

}  // namespace

bool interpret(InterpretedState& state, const std::uint8_t* code) {
  static const bool logic_is_known = logic_writes_af();
  if (!logic_is_known) return false;
  Reading in{.state = state, .code = code};
  constexpr unsigned kMostPrefixes = 3;  // more could make it longer than an instruction can be
  for (; in.at < kMostPrefixes; ++in.at) {
    const unsigned byte = code[in.at];
    if (byte == 0x66)
      in.word = true;
    else if ((byte == 0xF3 || byte == 0xF2) && in.repeat == 0)
      in.repeat = byte;
    else if (byte == 0x64)
      in.fs = true;
    else if (byte != 0x2E)
      break;
  }
  if ((code[in.at] & 0xF0u) == 0x40) in.rex = code[in.at++];
  const bool two_bytes = code[in.at] == 0x0F;
  if (two_bytes) ++in.at;
  in.opcode = code[in.at++];
  const Handler handler = (two_bytes ? kTwoByte : kOneByte)[in.opcode];
  if (handler == nullptr || (in.repeat != 0 && !may_repeat(two_bytes, in.opcode))) return false;
  return handler(in);
}

}  // namespace zs::engine
