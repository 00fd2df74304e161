#include "isa/fast_decode.h"

#include <array>
#include <cstring>
#include <tuple>

#include "isa/fast_decode_tables.h"

namespace zs::isa {
namespace {

using namespace fast;

enum Prefixes : unsigned {
  kOperandSize = 1,
  kRep = 2,
  kRepne = 4,
  kLocked = 8,
  kFs = 16,
  kGs = 32,
  kOtherSegment = 64,  // without effect in 64-bit mode
  kMandatory = kOperandSize | kRep | kRepne,
  kSegments = kFs | kGs | kOtherSegment,
};

constexpr auto kPrefixes = [] {
  std::array<std::uint8_t, 256> bits{};
  bits[0x66] = kOperandSize;
  bits[0xF3] = kRep;
  bits[0xF2] = kRepne;
  bits[0xF0] = kLocked;
  bits[0x64] = kFs;
  bits[0x65] = kGs;
  for (const unsigned segment : {0x26u, 0x2Eu, 0x36u, 0x3Eu}) bits[segment] = kOtherSegment;
  return bits;
}();

/// Column of a map by the mandatory prefixes; two different ones are left to Zydis.
constexpr unsigned kNoColumn = 4;
constexpr std::array<std::uint8_t, 8> kColumns = {0, 1, 2, kNoColumn, 3, kNoColumn, kNoColumn, kNoColumn};

/// What follows a ModRM byte.
struct ModrmTail {
  std::uint8_t displacement : 3, sib : 1, registers : 1, rip : 1;
};

constexpr auto kModrmTails = [] {
  std::array<ModrmTail, 256> tails{};
  for (unsigned modrm = 0; modrm < 256; ++modrm) {
    const unsigned mod = modrm >> 6, rm = modrm & 7u;
    ModrmTail& tail = tails[modrm];
    tail.registers = mod == 3;
    tail.sib = mod != 3 && rm == 4;
    tail.rip = mod == 0 && rm == 5;
    tail.displacement = mod == 2 || (mod == 0 && rm == 5) ? 4 : mod == 1 ? 1 : 0;
  }
  return tails;
}();

// ---- decoding ----------------------------------------------------------------------------------------------------

constexpr unsigned kLongest = 15;
/// Keeps prefixes, opcode, ModRM and SIB within the 15 bytes, whatever they are.
constexpr unsigned kMostPrefixes = 9;

/// Everything in front of ModRM, read.
struct Opening {
  const Tables::OpcodeMap* map = nullptr;  // null: not known here
  unsigned at = 0;                         // of the opcode's last byte
  unsigned prefixes = 0;
  unsigned rex = 0;  // 0100WRXB, 0 if absent; of VEX, the same bits the right way up and no 0100
  unsigned vvvv = 0;
  std::uint8_t opcode_at = 0, vvvv_at = 0;  // as Insn has them
};

inline bool read_vex(const std::uint8_t* code, Opening& opening) {
  if ((opening.prefixes & (kMandatory | kLocked)) != 0 || opening.rex != 0) return false;
  unsigned at = opening.at + 1;
  unsigned map = opcodes::Of;
  unsigned bits = 0;
  if (code[at - 1] == 0xC5) {
    bits = code[at];
    opening.rex = ~bits >> 5 & 4u;
    bits &= 0x7Fu;
  } else {
    map = code[at] & 31u;
    if (map < opcodes::Of || map > opcodes::Of3A) return false;
    bits = code[at + 1];
    opening.rex = (~unsigned{code[at]} >> 5 & 7u) | (bits >> 4 & 8u);
    ++at;
  }
  opening.vvvv_at = static_cast<std::uint8_t>(at);
  opening.opcode_at = 0;
  opening.vvvv = ~bits >> 3 & 15u;
  opening.map = &kTables.vex[(bits >> 6 & 2u) | (bits >> 2 & 1u)][map][bits & 3u];
  opening.at = at + 1;
  return true;
}

inline bool read_opening(const std::uint8_t* code, Opening& opening) {
  unsigned at = 0, column = 0;
  while (const unsigned prefix = kPrefixes[code[at]]) {
    if (at == kMostPrefixes) return false;
    opening.prefixes |= prefix;
    ++at;
  }
  if (opening.prefixes != 0) {
    const unsigned segments = opening.prefixes & kSegments;
    if ((segments & (segments - 1)) != 0) return false;
    column = kColumns[opening.prefixes & kMandatory];
    if (column == kNoColumn) return false;
  }
  const unsigned has_rex = (code[at] & 0xF0u) == 0x40;  // as often as not, so better no branch
  opening.rex = code[at] & (0u - has_rex);
  at += has_rex;
  opening.opcode_at = static_cast<std::uint8_t>(at);
  opening.at = at;
  if (code[at] != 0x0F) {
    if ((code[at] & 0xFEu) == 0xC4) return read_vex(code, opening);
    opening.map = &kTables.legacy[opcodes::One][column];
    return true;
  }
  const std::uint8_t escape = code[++at];
  if (escape == 0x38 || escape == 0x3A) {
    opening.map = &kTables.legacy[escape == 0x38 ? opcodes::Of38 : opcodes::Of3A][column];
    opening.at = at + 1;
    return true;
  }
  ++opening.opcode_at;
  opening.map = &kTables.legacy[opcodes::Of][column];
  opening.at = at;
  return true;
}

template <typename T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A little-endian signed number of 0, 1, 2 or 4 bytes. (Eight bytes are only ever data.)
inline std::int64_t signed_number(const std::uint8_t* from, unsigned bytes) {
  switch (bytes) {
    case 1: return static_cast<std::int8_t>(*from);
    case 2: return load<std::int16_t>(from);
    case 4: return load<std::int32_t>(from);
    default: return 0;
  }
}

/// The instruction's bytes, and zeros after them.
inline void copy_bytes(Insn& insn, const std::uint8_t* code, unsigned length) {
  static_assert(std::tuple_size_v<decltype(insn.bytes)> == kLongest);
  auto low = load<std::uint64_t>(code);
  auto high = load<std::uint64_t>(code + 7) >> 8;
  if (length < 8) {
    low &= (std::uint64_t{1} << 8 * length) - 1;
    high = 0;
  } else {
    high &= (std::uint64_t{1} << 8 * (length - 8)) - 1;
  }
  const std::uint64_t overlapping = high << 8 | low >> 56;
  std::memcpy(insn.bytes.data(), &low, 8);
  std::memcpy(insn.bytes.data() + 7, &overlapping, 8);
}

/// A general register as ModRM or the opcode names it: without REX, byte registers 4 to 7 are AH CH DH BH.
inline unsigned gpr_of(unsigned number, bool byte, bool rex) { return byte && !rex ? number & 3u : number; }

inline void mention(Insn& insn, unsigned gpr, unsigned place_of_trace_register) {
  insn.gprs = static_cast<std::uint16_t>(insn.gprs | 1u << gpr);
  if (gpr == kTracePointer)
    insn.trace_register_at = static_cast<std::uint8_t>(insn.trace_register_at | place_of_trace_register);
}

}  // namespace

bool fast_decode(std::uint64_t pc, std::span<const std::uint8_t> code_span, Insn& insn) {
  if (code_span.size() < kLongest) return false;
  const std::uint8_t* const code = code_span.data();

  Opening opening;
  if (!read_opening(code, opening)) return false;
  unsigned at = opening.at;
  const unsigned opcode = code[at++];
  const unsigned modrm = code[at];  // if there is one
  unsigned number = (*opening.map)[opcode];
  if ((number & kIsGroup) != 0) number = kTables.groups[number & ~unsigned{kIsGroup}][modrm >> 3 & 7u];
  const Row& row = kTables.rows[number];
  const std::uint32_t flags = row.flags;
  if ((flags & kListed) == 0) return false;

  // Where everything is.
  ModrmTail tail{};
  unsigned sib = 0, sib_at = 0, displacement_at = 0, displacement_bytes = 0;
  const unsigned modrm_at = at;
  const bool has_modrm = (flags & kModrm) != 0;
  if (has_modrm) {
    tail = kModrmTails[modrm];
    displacement_bytes = tail.displacement;
    ++at;
    if (tail.sib) {
      sib_at = at;
      sib = code[at++];
      if ((sib & 7u) == 5 && modrm < 0x40) displacement_bytes = 4;
    }
    displacement_at = at;
    at += displacement_bytes;
  }
  const bool in_memory = has_modrm && !tail.registers;
  const bool wide = (opening.rex & 8u) != 0;
  const Size size = wide ? kWide : (opening.prefixes & kOperandSize) != 0 ? kWord : kDefault;
  const unsigned immediate_at = at;
  at += row.immediate[size];
  if (at > kLongest) return false;

  // What the line does not allow.
  constexpr std::uint32_t kConditions = kMemoryOnly | kRegisterOnly | kNoRex | kEndbr;
  if ((flags & kConditions) != 0) {
    if ((flags & kMemoryOnly) != 0 && !in_memory) return false;
    if ((flags & kRegisterOnly) != 0 && in_memory) return false;
    if ((flags & kNoRex) != 0 && opening.rex != 0) return false;
    if ((flags & kEndbr) != 0 && modrm != 0xFA) return false;
  }
  const bool locked = (opening.prefixes & kLocked) != 0;
  if (locked && !((flags & kLock) != 0 && in_memory)) return false;
  if (opening.vvvv != 0) {
    const bool used = (flags & kVvvv) != 0 || ((flags & kVvvvOfRegisterForm) != 0 && !in_memory);
    if (!used) return false;
  }

  // Sure of it: from here on `insn` is written, all of it.
  insn.pc = pc;
  insn.target = 0;
  copy_bytes(insn, code, at);
  insn.length = static_cast<std::uint8_t>(at);
  insn.flow = row.flow;
  insn.condition = 0;
  insn.return_pop = 0;
  insn.target_register = -1;
  insn.facts = row.facts[in_memory ? 1 : 0];
  if (locked) insn.facts.locked = true;
  insn.gprs = row.gprs;
  insn.rip_relative = tail.rip;
  insn.fs = (opening.prefixes & kFs) != 0;
  insn.gs = (opening.prefixes & kGs) != 0;
  insn.memory_count = 0;
  insn.modrm_at = has_modrm ? static_cast<std::uint8_t>(modrm_at) : std::uint8_t{0};
  insn.sib_at = static_cast<std::uint8_t>(sib_at);
  insn.disp_at = displacement_bytes != 0 ? static_cast<std::uint8_t>(displacement_at) : std::uint8_t{0};
  insn.trace_register_at = 0;
  insn.opcode_at = opening.opcode_at;
  insn.vvvv_at = opening.vvvv_at;

  const bool rex = opening.rex != 0;
  const unsigned extend_reg = opening.rex << 1 & 8u, extend_index = opening.rex << 2 & 8u,
                 extend_base = opening.rex << 3 & 8u;
  if ((flags & kRegGpr) != 0) mention(insn, gpr_of((modrm >> 3 & 7u) | extend_reg, (flags & kRegByte) != 0, rex), 1);
  if ((flags & kOpcodeGpr) != 0)
    mention(insn, gpr_of((opcode & 7u) | extend_base, (flags & kOpcodeByte) != 0, rex), 32);
  if ((flags & kVvvvGpr) != 0) mention(insn, opening.vvvv, 16);

  if (in_memory) {
    unsigned place_of_base = 2;
    std::int8_t index_register = -1, base_register = -1;
    std::uint8_t scale = 0;
    unsigned base = modrm & 7u;
    bool has_base = !tail.rip;
    if (tail.sib) {
      const unsigned index = (sib >> 3 & 7u) | extend_index;
      if (index != kRsp) {
        index_register = static_cast<std::int8_t>(index);
        scale = static_cast<std::uint8_t>(1u << (sib >> 6));
        mention(insn, index, 8);
      }
      base = sib & 7u;
      has_base = base != 5 || modrm >= 0x40;
      place_of_base = 4;
    }
    if (has_base) {
      base |= extend_base;
      base_register = static_cast<std::int8_t>(base);
      mention(insn, base, place_of_base);
    }
    if ((flags & (kReads | kWrites)) != 0) {
      std::int64_t displacement = signed_number(code + displacement_at, displacement_bytes);
      if ((flags & kPop) != 0 && base_register == kRsp) displacement += row.memory[size];
      std::int8_t bits = -1;
      if ((flags & kBitString) != 0) bits = static_cast<std::int8_t>((modrm >> 3 & 7u) | extend_reg);
      insn.memory_count = 1;
      insn.memory[0] = {.base = base_register,
                        .index = index_register,
                        .scale = scale,
                        .rip_relative = tail.rip != 0,
                        .fs = insn.fs,
                        .gs = insn.gs,
                        .read = (flags & kReads) != 0,
                        .write = (flags & kWrites) != 0,
                        .bit_register = bits,
                        .displacement = displacement,
                        .bytes = row.memory[size]};
    }
  } else if ((flags & kRmGpr) != 0) {
    mention(insn, gpr_of((modrm & 7u) | extend_base, (flags & kRmByte) != 0, rex), 2);
  }

  if ((flags & kStackOrFlow) == 0) return true;

  if ((flags & (kPush | kPop | kLeave)) != 0) {
    const bool push = (flags & kPush) != 0;
    const int bytes = size == kWord ? 2 : 8;
    insn.memory[insn.memory_count++] = {.base = static_cast<std::int8_t>((flags & kLeave) != 0 ? kRbp : kRsp),
                                        .read = !push,
                                        .write = push,
                                        .displacement = push ? -bytes : 0,
                                        .bytes = static_cast<std::uint32_t>(bytes)};
  }

  switch (row.flow) {
    case Flow::Jump:
    case Flow::ConditionalJump:
    case Flow::Call:
      insn.target = insn.next() + static_cast<std::uint64_t>(signed_number(code + immediate_at, row.immediate[size]));
      insn.condition = opcode & 15u;
      break;
    case Flow::Return:
      if (row.immediate[size] != 0) insn.return_pop = load<std::uint16_t>(code + immediate_at);
      break;
    case Flow::IndirectJump:
    case Flow::IndirectCall:
      if (!in_memory) insn.target_register = static_cast<std::int8_t>((modrm & 7u) | extend_base);
      break;
    default: break;
  }
  return true;
}

}  // namespace zs::isa
