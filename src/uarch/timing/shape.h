// What timing needs to know of an instruction: its form, the registers it joins, and the few properties that decide how
// it is fetched, fused and renamed. Made once, at translation, from the instruction's bytes; neither the engine's nor
// the interpreter's decoder is asked, because both must get the same answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "arch/retired.h"

namespace zs::uarch {

/// Registers that carry dependencies, one bit each: 16 general ones, the flags in two groups that are renamed apart, 32
/// vector registers of any width, 8 mask registers, and one bit for the x87 stack with MMX.
using RegisterSet = std::uint64_t;
namespace reg {
inline constexpr unsigned kGeneral = 0;  // rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ... r15
inline constexpr unsigned kStackPointer = 4;
inline constexpr unsigned kCarry = 16;
inline constexpr unsigned kFlags = 17;  // OF, SF, ZF, AF, PF
inline constexpr unsigned kVector = 18;
inline constexpr unsigned kMask = 50;
inline constexpr unsigned kX87 = 58;
inline constexpr unsigned kCount = 59;
constexpr RegisterSet bit(unsigned number) { return RegisterSet{1} << number; }
}  // namespace reg

/// The first half of a pair that macro-fusion may join with the conditional jump after it.
enum class FusionHead : std::uint8_t {
  None,
  Test,       // TEST, AND: with every condition
  Compare,    // CMP, ADD, SUB: with conditions of CF and ZF, and the signed ones
  Increment,  // INC, DEC: with conditions that leave CF alone
};

/// How a copy between registers may vanish at renaming.
enum class CopyKind : std::uint8_t { None, General, Vector };

/// What becomes of the upper halves of vector registers 0 to 15: they are in use from an instruction that fills them
/// on, until all are cleared.
enum class UpperHalves : std::uint8_t {
  Untouched,
  Kept,  // of a destination that is written without VEX
  Filled,
  Cleared
};

/// Instructions that count bits of their source; some cores have them wait for their destination too.
enum class BitCount : std::uint8_t { None, Ones, Zeros };

struct InstructionShape {
  static constexpr std::uint8_t kNoJcc = 0xFF;

  std::uint16_t mnemonic = 0;   // of Zydis
  std::uint16_t signature = 0;  // kinds of its operands (signature_of)
  std::uint8_t length = 0;
  std::uint8_t loads = 0, stores = 0;  // memory operands; a REP string instruction: of one element
  std::uint8_t condition = kNoJcc;     // low opcode nibble of a Jcc, which can fuse; not of LOOP and JRCXZ
  arch::BranchKind branch = arch::BranchKind::None;
  FusionHead fusion = FusionHead::None;
  CopyKind copy = CopyKind::None;
  BitCount bit_count = BitCount::None;
  bool zero_idiom = false;      // result is known without its operands: XOR r, r and its kin
  bool indexed = false;         // its memory operand has an index register
  bool three_operands = false;  // VEX or EVEX with a source that is not overwritten
  bool memory_and_immediate = false;
  bool rip_relative = false;
  bool changes_length = false;  // 66H or 67H changes how long the immediate is: the predecoder stalls
  bool vector = false;          // its result is in the vector unit
  UpperHalves upper = UpperHalves::Untouched;
  bool repeats = false;      // REP string instruction
  bool serialising = false;  // CPUID, fences, LOCK: what is after it waits for what is before it
  bool nop = false;
  // How the address of general registers' 32 or 64 bits is written, where it has a base register, and of PUSH and POP;
  // 0: otherwise. Two of the same nearly always mean the same place while these registers do not change.
  std::uint16_t place = 0;
  RegisterSet reads = 0;    // but for those that make an address
  RegisterSet address = 0;  // those that make an address
  RegisterSet writes = 0;

  bool operator==(const InstructionShape&) const = default;
};

/// Kinds of operand that timing tells apart; four bits each in a signature.
enum class OperandKind : std::uint8_t {
  None,
  R8,
  R16,
  R32,
  R64,
  Mmx,
  Xmm,
  Ymm,
  Zmm,
  Mask,
  X87,
  Immediate,
  Memory,
  Other
};

/// The first three visible operands, and in the top bits 1 + log2 of the memory operand's bytes, rounded up, or for LEA
/// the number of parts of the address.
constexpr std::uint16_t signature_of(OperandKind first, OperandKind second, OperandKind third, unsigned top) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(first) | static_cast<unsigned>(second) << 4 |
                                    static_cast<unsigned>(third) << 8 | top << 12);
}

/// The same where upper halves are in use, on a core that keeps those of a destination by merging: it waits for what
/// the register had. (Whether a zero idiom does is not published: here it does not.)
/// source: Optimization manual, "Mixing Intel AVX and Intel SSE Code", on Skylake
constexpr InstructionShape merging(InstructionShape shape) {
  if (shape.upper != UpperHalves::Kept || shape.zero_idiom) return shape;
  constexpr RegisterSet kVectors = reg::bit(reg::kMask) - reg::bit(reg::kVector);
  shape.reads |= shape.writes & kVectors;
  shape.copy = CopyKind::None;
  return shape;
}

/// The shape of the instruction at the start of `code` (up to 15 bytes).
/// returns nothing if the bytes are no instruction
std::optional<InstructionShape> shape_of(std::span<const std::uint8_t> code);

}  // namespace zs::uarch
