// One decoded instruction: what the interpreter needs to execute it again without looking at its bytes.
#pragma once

#include <array>
#include <cstdint>

namespace zs::machine::vcpu {

struct Core;
struct Insn;

/// Executes one instruction. Throws Fault before it changed anything; sets Core::next_ip if it moves control.
using Handler = void (*)(Core&, const Insn&);

/// How bytes are decoded: half of the key of a decoded page, the other half being its physical address.
enum class Mode : std::uint8_t { Real16, Prot16, Prot32, Compat16, Compat32, Long64 };
inline constexpr unsigned kModes = 6;

/// Register numbers in Core::regs beyond the sixteen general ones.
inline constexpr std::uint8_t kNoRegister = 16;  // reads as zero
inline constexpr std::uint8_t kIp = 17;          // address of the instruction that executes

enum class Rep : std::uint8_t { None, RepOrRepe, Repne };

struct Insn {
  static constexpr std::uint16_t kNowhere = 0xFFFF;
  Handler run = nullptr;
  std::uint64_t imm = 0;       // immediate (sign-extended), branch displacement, offset of a far pointer
  std::uint64_t disp = 0;      // of the memory operand; ip-relative ones include the instruction's length
  const void* code = nullptr;  // host code or table that `run` uses
  std::uint16_t facts = 0;     // row of Core::facts; 0: a REP string instruction, whose counts are not known before
  std::uint16_t selector = 0;  // of a far pointer
  std::uint16_t offset = kNowhere;  // where in its page it begins, while its page knows it
  std::uint8_t length = 0;
  std::uint8_t base = kNoRegister, index = kNoRegister, scale = 0;  // scale: shift count
  std::uint8_t address_shift = 0;  // 0, 32, 48: bits of an address that address size cuts off
  std::uint8_t segment = 0;        // of the memory operand
  std::uint8_t dst = 0, src = 0;   // byte offsets into Core::regs, or numbers of other registers
  std::uint8_t bytes = 0;          // operand size
  std::uint8_t detail = 0;         // what else the handler wants to know
  Rep rep = Rep::None;
  bool to_memory = false, from_memory = false;  // the first / the second operand is the memory operand
  bool locked = false;
};
static_assert(sizeof(Insn) == 56);

}  // namespace zs::machine::vcpu
