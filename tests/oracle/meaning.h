// What one instruction counts as, decoded for the oracle alone: Zydis operands and registers in, event facts out.
// Shares no table with the engine, so that an error in either shows up as a difference.
//
// The definitions (they are the project's, docs/formats/event-list.md states them):
//   loads, stores   one per memory operand read or written; a REP string instruction: per element done.
//                   Read-modify-write is both, whether or not CMPXCHG succeeds. call, push: store. ret, pop, leave:
//                   load.
//                   Masked moves, gathers and scatters: one, whatever the mask. xsave, fxsave: one store; xrstor,
//                   fxrstor: one load; enter: one store.
//                   None: lea, prefetch, multi-byte NOP, cache-line flush, write-back and demotion.
//   split           an access of at most 64 bytes that touches two 64-byte lines. Longer operands (xsave, fnsave) and
//                   gathers, scatters move in pieces: never split.
//   locked          LOCK prefix, or XCHG with memory
//   nop             90H and its prefixed forms, 0F 1FH; neither PAUSE nor ENDBR64
//   branches        LOOP and JRCXZ are conditional; SYSCALL, INT n, IRET, far transfers are Far
//   FP_ARITH        see fp_arith() in meaning.cc
#pragma once

#include <Zydis/Zydis.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "arch/retired.h"

namespace zs::oracle {

using Registers = user_regs_struct;

struct MemoryOperand {
  enum class Place : std::uint8_t {
    Formula,     // base + index * scale + displacement
    BelowStack,  // what a push writes: rsp - bytes
    AfterPop,    // POP m with an rsp base: rsp has already grown when the address is formed
    PerElement,  // gather, scatter: no single address
  };
  Place place = Place::Formula;
  bool load = false;
  bool store = false;
  std::uint32_t bytes = 0;
  ZydisRegister base = ZYDIS_REGISTER_NONE;
  ZydisRegister index = ZYDIS_REGISTER_NONE;
  ZydisRegister segment = ZYDIS_REGISTER_NONE;
  std::uint8_t scale = 0;
  std::int64_t displacement = 0;
  bool address_is_32_bit = false;
  ZydisRegister bit_offset = ZYDIS_REGISTER_NONE;  // BT m, r addresses the word that holds the bit
};

/// Where a gather or scatter has its indices and its mask.
struct Elements {
  ZydisRegister indices = ZYDIS_REGISTER_NONE, mask = ZYDIS_REGISTER_NONE;
  std::uint8_t index_bytes = 0, element_bytes = 0, count = 0;
};

/// Addresses of the elements that the mask lets through.
/// state   an XSAVE area of the standard form, before the instruction
std::vector<std::uint64_t> element_addresses(const Elements& elements, const MemoryOperand& operand,
                                             const Registers& before, std::span<const std::byte> state);

struct Meaning {
  Elements elements;
  arch::InsnFacts facts;
  ZydisMnemonic mnemonic = ZYDIS_MNEMONIC_INVALID;
  std::uint8_t length = 0;
  std::uint8_t address_bits = 64;
  bool has_66_prefix = false;
  std::uint8_t operands = 0;
  std::array<MemoryOperand, 4> operand{};
  std::int64_t relative_target = 0;                     // of a relative branch, from the next instruction
  ZydisRegister target_register = ZYDIS_REGISTER_NONE;  // of an indirect branch through a register
  bool streams = false;                                 // a non-temporal store
  std::optional<MemoryOperand> line;                    // of a prefetch, flush or write-back, which is no load or store
  arch::AccessKind line_kind = arch::AccessKind::Prefetch;
};

/// One memory operand's address under `before`, the registers as the instruction finds them; none for PerElement.
std::optional<std::uint64_t> address_of(const Meaning& meaning, const MemoryOperand& operand, const Registers& before);

/// A general register's value under `registers`; 64-bit names only, others give 0.
std::uint64_t register_value(ZydisRegister reg, const Registers& registers);

/// Whether a conditional branch is taken, from flags and rcx alone.
bool condition_holds(const Meaning& meaning, const Registers& before);

bool is_split(std::uint64_t address, std::uint32_t bytes);

class Decoder {
 public:
  Decoder();
  /// returns none if the bytes are no instruction (the processor would raise #UD)
  std::optional<Meaning> decode(std::span<const std::byte> code) const;

 private:
  ZydisDecoder decoder_;
};

}  // namespace zs::oracle
