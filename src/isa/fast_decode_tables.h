// opcode_table.h as the quick decoder looks it up, made while compiling: each line resolved for one column and, for
// VEX, one W and L (a row), and tables from opcode bytes to a row. For fast_decode.cc alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "isa/decode.h"
#include "isa/opcode_table.h"

namespace zs::isa::fast {

using arch::BranchKind;
using arch::FpArith;
using arch::InsnFacts;
using opcodes::Fp;
using opcodes::More;
using opcodes::OpcodeLine;
using opcodes::Vex;
using BySize = std::array<std::uint8_t, 3>;

// ---- rows: an opcode line, resolved for one column and, for VEX, one W and L -----------------------------------

enum RowFlags : std::uint32_t {
  kListed = 1u << 0,
  kModrm = 1u << 1,
  kMemoryOnly = 1u << 2,
  kRegisterOnly = 1u << 3,
  kRegGpr = 1u << 4,  // ModRM.reg is a general register
  kRegByte = 1u << 5,
  kRmGpr = 1u << 6,  // ModRM.rm is one, in the register form
  kRmByte = 1u << 7,
  kOpcodeGpr = 1u << 8,
  kOpcodeByte = 1u << 9,
  kVvvv = 1u << 10,  // VEX.vvvv is an operand; else it must be 1111b
  kVvvvOfRegisterForm = 1u << 11,
  kVvvvGpr = 1u << 12,
  kReads = 1u << 13,  // what the memory form does to memory
  kWrites = 1u << 14,
  kPush = 1u << 15,
  kPop = 1u << 16,
  kLeave = 1u << 17,  // as kPop, but at rbp
  kRelative = 1u << 18,
  kImmediate = 1u << 19,
  kLock = 1u << 20,
  kNoRex = 1u << 21,
  kEndbr = 1u << 22,
  kStackOrFlow = 1u << 23,  // any of kPush, kPop, kLeave, or not Flow::Plain
  kBitString = 1u << 24,
};

/// Index of things that depend on the operand size: 66h, neither, W.
enum Size : unsigned { kWord, kDefault, kWide };

using BySize = std::array<std::uint8_t, 3>;

struct Row {
  std::array<InsnFacts, 2> facts{};  // of the register form, of the memory form
  std::uint32_t flags = 0;
  std::uint16_t gprs = 0;  // used without being encoded
  BySize immediate{};      // bytes, of a branch displacement too
  BySize memory{};         // bytes of the memory operand
  Flow flow = Flow::Plain;
};
static_assert(sizeof(Row) == 32);

/// The encoding a row is resolved for.
struct Place {
  unsigned column = 0;        // 0: none, 1: 66, 2: F3, 3: F2
  bool w = false, l = false;  // of VEX

  constexpr std::uint8_t vector_bytes() const { return l ? 32 : 16; }
};

/// A line that reaches this does not compile.
[[noreturn]] inline void bad_opcode_line() { std::abort(); }

constexpr BySize bytes_of(char size, Place place) {
  const std::uint8_t vector = place.vector_bytes();
  const auto part = [vector](int of) { return static_cast<std::uint8_t>(vector / of); };
  const auto same = [](std::uint8_t bytes) { return BySize{bytes, bytes, bytes}; };
  switch (size) {
    case 'b': return same(1);
    case 'w': return same(2);
    case 'd': return same(4);
    case 'q': return same(8);
    case 'o': return same(16);
    case 'v': return {2, 4, 8};
    case 'y': return {4, 4, 8};
    case 'z': return {2, 4, 4};
    case 's': return {2, 8, 8};
    case 'c': return {8, 8, 16};
    case 'x': return same(vector);
    case '2': return same(part(2));
    case '4': return same(part(4));
    case '8': return same(part(8));
    case 'm': return same(place.l ? vector : part(2));
    case 'p': return same(place.column == 2 ? std::uint8_t{4} : place.column == 3 ? std::uint8_t{8} : vector);
    default: bad_opcode_line();
  }
}

constexpr std::uint16_t gpr_named(std::string_view name) {
  constexpr std::string_view names[] = {"ax", "cx", "dx", "bx", "sp", "bp"};
  for (unsigned i = 0; i < std::size(names); ++i) {
    if (names[i] == name) return static_cast<std::uint16_t>(1u << i);
  }
  if (name == "r11") return 1u << kR11;
  bad_opcode_line();
}

constexpr void add_hidden(Row& row, std::string_view word) {
  if (word == "push" || word == "pop") {
    row.flags |= word == "push" ? kPush : kPop;
    row.gprs |= gpr_named("sp");
  } else if (word == "leave") {
    row.flags |= kLeave;
    row.gprs = static_cast<std::uint16_t>(row.gprs | gpr_named("sp") | gpr_named("bp"));
  } else {
    row.gprs |= gpr_named(word);
  }
}

constexpr void add_operand(Row& row, std::string_view word, Place place) {
  const char size = word.size() > 1 ? word[1] : '\0';
  const bool byte = size == 'b';
  const auto memory = [&] {
    row.memory = bytes_of(size, place);
    const char action = word.size() > 2 ? word[2] : ' ';
    if (action == ' ' || action == '+') row.flags |= kReads;
    if (action == '=' || action == '+') row.flags |= kWrites;
    row.flags |= kModrm;
  };
  switch (word[0]) {
    case 'E': memory(), row.flags |= kRmGpr | (byte ? kRmByte : 0u); break;
    case 'D': memory(), row.flags |= kRmGpr; break;
    case 'W': memory(); break;
    case 'M': memory(), row.flags |= kMemoryOnly; break;
    case 'U': row.flags |= kModrm | kRegisterOnly; break;
    case 'G': row.flags |= kModrm | kRegGpr | (byte ? kRegByte : 0u); break;
    case 'V': row.flags |= kModrm; break;
    case 'Z': row.flags |= kOpcodeGpr | (byte ? kOpcodeByte : 0u); break;
    case 'H': row.flags |= kVvvv; break;
    case 'h': row.flags |= kVvvvOfRegisterForm; break;
    case 'B': row.flags |= kVvvv | kVvvvGpr; break;
    case 'I': row.flags |= kImmediate, row.immediate = bytes_of(size, place); break;
    case 'J': row.flags |= kImmediate | kRelative, row.immediate = bytes_of(size, place); break;
    default: bad_opcode_line();
  }
}

constexpr BranchKind branch_of(Flow flow) {
  switch (flow) {
    case Flow::Plain:
    case Flow::Stop: return BranchKind::None;
    case Flow::Jump: return BranchKind::RelativeJump;
    case Flow::ConditionalJump: return BranchKind::Conditional;
    case Flow::Call: return BranchKind::RelativeCall;
    case Flow::IndirectJump: return BranchKind::IndirectJump;
    case Flow::IndirectCall: return BranchKind::IndirectCall;
    case Flow::Return: return BranchKind::Return;
    case Flow::Syscall: return BranchKind::Far;
    default: bad_opcode_line();
  }
}

constexpr FpArith fp_of(Fp fp, Place place) {
  const auto packed = [place](bool is_double) {
    if (place.l) return is_double ? FpArith::Packed256Double : FpArith::Packed256Single;
    return is_double ? FpArith::Packed128Double : FpArith::Packed128Single;
  };
  switch (fp) {
    case Fp::No: return FpArith::None;
    case Fp::ByColumn:
      if (place.column >= 2) return place.column == 3 ? FpArith::ScalarDouble : FpArith::ScalarSingle;
      return packed(place.column == 1);
    case Fp::Horizontal: return packed(place.column == 1);
    case Fp::DotSingle: return packed(false);
    case Fp::DotDouble: return packed(true);
    case Fp::FmaPacked: return packed(place.w);
    case Fp::FmaScalar: return place.w ? FpArith::ScalarDouble : FpArith::ScalarSingle;
  }
  bad_opcode_line();
}

constexpr std::uint8_t fp_weight_of(Fp fp) {
  if (fp == Fp::No) return 0;
  return fp == Fp::ByColumn || fp == Fp::Horizontal ? 1 : 2;
}

constexpr Row resolve(const OpcodeLine& line, Place place) {
  const More& more = line.more;
  Row row;
  row.flags = kListed | (more.group != 0 ? kModrm : 0u) | (more.lock ? kLock : 0u) | (more.no_rex ? kNoRex : 0u) |
              (more.endbr ? kEndbr : 0u);
  std::string_view rest = line.operands;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size() == rest.size() ? word.size() : word.size() + 1);
    if (word[0] >= 'a' && word.size() > 1)
      add_hidden(row, word);
    else
      add_operand(row, word, place);
  }
  row.flow = more.flow;
  if ((row.flags & (kPush | kPop | kLeave)) != 0 || more.flow != Flow::Plain) row.flags |= kStackOrFlow;
  if (more.bit_string) row.flags |= kBitString;
  InsnFacts facts;
  facts.branch = branch_of(more.flow);
  facts.fp = fp_of(more.fp, place);
  facts.fp_weight = fp_weight_of(more.fp);
  facts.nop = more.nop;
  facts.prefetch = more.prefetch;
  facts.loads = (row.flags & (kPop | kLeave)) != 0;
  facts.stores = (row.flags & kPush) != 0;
  row.facts[0] = facts;
  facts.loads = static_cast<std::uint8_t>(facts.loads + ((row.flags & kReads) != 0));
  facts.stores = static_cast<std::uint8_t>(facts.stores + ((row.flags & kWrites) != 0));
  facts.locked = more.always_locked;
  row.facts[1] = facts;
  return row;
}

// ---- tables: from opcode bytes to a row --------------------------------------------------------------------------

inline constexpr std::size_t kMostRows = 1024, kMostGroups = 64;
inline constexpr std::uint16_t kIsGroup = 0x8000;

struct Tables {
  /// Row numbers by opcode; 0: not known here. kIsGroup: a number in `groups`, by ModRM.reg.
  using OpcodeMap = std::array<std::uint16_t, 256>;
  using Columns = std::array<OpcodeMap, 4>;

  std::array<Columns, 4> legacy{};              // by map
  std::array<std::array<Columns, 4>, 4> vex{};  // by 2 * W + L, by map
  std::array<std::array<std::uint16_t, 8>, kMostGroups> groups{};
  std::array<Row, kMostRows> rows{};
  std::uint16_t row_count = 1, group_count = 0;

  constexpr void add(const OpcodeLine& line, OpcodeMap& map, Place place) {
    const std::uint16_t number = row_count++;
    rows[number] = resolve(line, place);
    for (unsigned opcode = line.first; opcode <= line.last; opcode += line.more.step) {
      std::uint16_t& entry = map[opcode];
      if (line.more.group == 0) {
        if (entry != 0) bad_opcode_line();  // two lines claim one opcode
        entry = number;
        continue;
      }
      if (entry == 0) entry = static_cast<std::uint16_t>(kIsGroup | group_count++);
      for (unsigned reg = 0; reg < 8; ++reg) {
        if ((line.more.group >> reg & 1u) == 0) continue;
        std::uint16_t& member = groups[entry & ~unsigned{kIsGroup}][reg];
        if (member != 0) bad_opcode_line();
        member = number;
      }
    }
  }

  constexpr void add(const OpcodeLine& line) {
    for (unsigned column = 0; column < 4; ++column) {
      if ((line.columns >> column & 1u) == 0) continue;
      if (line.more.legacy) add(line, legacy[line.map][column], {.column = column});
      if (line.more.vex == Vex::No) continue;
      for (unsigned w = 0; w < 2; ++w) {
        if (line.more.w >= 0 && line.more.w != static_cast<int>(w)) continue;
        for (unsigned l = 0; l < 2; ++l) {
          if (line.more.vex != Vex::Both && (line.more.vex == Vex::L1) != (l == 1)) continue;
          add(line, vex[2 * w + l][line.map][column], {.column = column, .w = w == 1, .l = l == 1});
        }
      }
    }
  }
};

constexpr Tables kTables = [] {
  Tables tables;
  for (const OpcodeLine& line : opcodes::kLines) tables.add(line);
  return tables;
}();

}  // namespace zs::isa::fast
