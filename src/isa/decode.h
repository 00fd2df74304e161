// One guest instruction, decoded once: what the translator must know to copy it, what the PMU must know to count it,
// and where it touches memory. Only decode.cc and accesses.cc know Zydis (zydis_decode.h); what compiled code consists
// of does not get that far here (fast_decode.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "arch/cpu_level.h"
#include "arch/retired.h"
#include "isa/registers.h"

namespace zs::isa {

/// Bytes; a longer one faults.
inline constexpr std::size_t kLongestInstruction = 15;

/// How an instruction moves control, and so how it is translated.
enum class Flow : std::uint8_t {
  Plain,            // copied
  Jump,             // JMP rel
  ConditionalJump,  // Jcc rel
  CounterJump,      // JRCXZ, LOOP, LOOPE, LOOPNE: short forms only
  Call,             // CALL rel
  IndirectJump,     // JMP r/m64
  IndirectCall,     // CALL r/m64
  Return,           // RET, RET imm16
  Syscall,          // SYSCALL, and INT 80h
  Breakpoint,       // INT3, INT1, INT 3, INT 4: trap after the instruction
  Stop,             // UD0/1/2, HLT, privileged instructions: copied, and faults
  Emulated,  // the engine answers: RDFSBASE and its like, FS and GS themselves (MOV, PUSH, POP, LFS, LGS), RDPKRU, WRPKRU; CPUID, RDTSC, RDTSCP, RDPID, RDRAND, RDSEED in virtual time
  FarReturn,         // IRETQ, RETFQ: the engine answers, to the segments the program is in
  TransactionBegin,  // XBEGIN: taken as an immediate abort
  Refused,           // SYSENTER, other far transfers, 16-bit branches: a clear error
};

/// A memory operand as the instruction encodes it; registers are encoding numbers, -1 none.
struct MemoryOperand {
  std::int8_t base = -1, index = -1;
  std::uint8_t scale = 0;
  bool rip_relative = false;
  bool fs = false, gs = false;
  bool address32 = false;  // 67h: the sum is truncated to 32 bits
  bool read = false, write = false;
  bool vector_index = false;      // VSIB: `index` is no general register
  bool plus_al = false;           // XLAT: AL is added
  std::int8_t bit_register = -1;  // BT, BTS, BTR, BTC m, r: its bits beyond the operand select another word of memory
  std::int64_t displacement = 0;
  std::uint32_t bytes = 0;
};

struct Insn {
  std::uint64_t pc = 0;
  std::uint64_t target = 0;  // of a direct transfer
  std::array<std::uint8_t, 15> bytes{};
  std::uint8_t length = 0;
  Flow flow = Flow::Plain;
  std::uint8_t condition = 0;        // low opcode nibble of a Jcc
  std::uint16_t return_pop = 0;      // RET imm16
  std::int8_t target_register = -1;  // of JMP r64, CALL r64
  arch::InsnFacts facts;
  std::uint16_t gprs = 0;  // general registers it mentions, explicitly or not
  bool rip_relative = false;
  bool fs = false, gs = false;  // has the segment override, used or not
  std::uint8_t memory_count = 0;
  std::uint8_t modrm_at = 0, sib_at = 0, disp_at = 0;  // offsets into bytes; 0 = absent
  std::array<MemoryOperand, 2> memory{};

  std::uint64_t next() const { return pc + length; }
  bool mentions(Gpr reg) const { return (gprs >> reg & 1u) != 0; }
  bool touches_memory() const { return facts.loads + facts.stores != 0; }

  /// Where the trace register is encoded, for renaming: bit 0 ModRM.reg, 1 ModRM.rm (register or base), 2 SIB.base,
  /// 3 SIB.index, 4 VEX/EVEX.vvvv, 5 low opcode bits.
  std::uint8_t trace_register_at = 0;
  std::uint8_t opcode_at = 0, vvvv_at = 0;
};

/// What decides whether an instruction is one, and who answers it.
struct Processor {
  bool virtual_time = false;  // RDTSC and its kin are Emulated
  arch::CpuLevel level =
      arch::CpuLevel::Host;  // otherwise XGETBV, XSAVE and XRSTOR are too, and what is beyond is none
};

/// Decodes the instruction at `pc` from `code` (up to 15 bytes, possibly fewer at the end of executable memory).
/// returns nothing if the bytes are no instruction, or do not suffice
std::optional<Insn> decode(std::uint64_t pc, std::span<const std::uint8_t> code, Processor processor = {});

/// The same into an Insn of the caller's, for the translator's inner loop: every field is written but for the elements
/// of `memory` past memory_count, which are left as they were.
/// returns false where decode() returns nothing; `insn` is then untouched
bool decode_into(Insn& insn, std::uint64_t pc, std::span<const std::uint8_t> code, Processor processor = {});

/// What decode() must answer: the way through Zydis, for every instruction there is, several times slower.
std::optional<Insn> decode_with_zydis(std::uint64_t pc, std::span<const std::uint8_t> code, Processor processor = {});

/// POPF and PUSHF, of any size.
inline bool is_one_byte(const Insn& insn, std::uint8_t opcode) {
  return insn.opcode_at + 1 == insn.length && insn.bytes[insn.opcode_at] == opcode && insn.modrm_at == 0 &&
         (insn.opcode_at == 0 || insn.bytes[insn.opcode_at - 1U] != 0x0F);
}
inline bool is_popf(const Insn& insn) { return is_one_byte(insn, 0x9D); }
inline bool is_pushf(const Insn& insn) { return is_one_byte(insn, 0x9C); }
inline bool is_int80(const Insn& insn) { return insn.flow == Flow::Syscall && insn.bytes[insn.opcode_at] == 0xCD; }

inline bool is_rdpkru(const Insn& insn) {
  return insn.flow == Flow::Emulated && insn.bytes[insn.opcode_at] == 0x01 && insn.bytes[insn.modrm_at] == 0xEE;
}
inline bool is_wrpkru(const Insn& insn) {
  return insn.flow == Flow::Emulated && insn.bytes[insn.opcode_at] == 0x01 && insn.bytes[insn.modrm_at] == 0xEF;
}
inline bool is_rdtsc_or_rdtscp(const Insn& insn) {
  constexpr std::uint8_t kEscape = 0x0F, kRdtsc = 0x31, kRdtscp = 0x01, kModrmOfRdtscp = 0xF9;
  const std::uint8_t* const opcode = &insn.bytes[insn.opcode_at];
  return insn.opcode_at != 0 && opcode[-1] == kEscape &&
         (opcode[0] == kRdtsc || (opcode[0] == kRdtscp && opcode[1] == kModrmOfRdtscp));
}

/// Whether the bytes end inside an instruction that more bytes could complete.
bool is_truncated(std::span<const std::uint8_t> code);
/// Whether 15 bytes are the beginning of more than an instruction may have.
bool is_too_long(std::span<const std::uint8_t> code);

}  // namespace zs::isa
