#include "isa/flag_writer.h"

namespace zs::isa {
namespace {

/// The eight operations of the opcode map's first quarter and of group 1.
enum Alu : unsigned { kAdd, kOr, kAdc, kSbb, kAnd, kSub, kXor, kCmp };
bool writes_all(unsigned alu) {
  switch (alu) {
    case kAdd:
    case kSub:
    case kCmp: return true;
    case kOr:
    case kAnd:
    case kXor: return logic_writes_af();
    default: return false;  // ADC and SBB read CF
  }
}

}  // namespace

// AF after each with AF set before: 0 if all of them write it.
bool logic_writes_af() {
  static const bool writes = [] {
    std::uint32_t left = 0;
    const auto af_after = [&](auto logic) {
      std::uint64_t flags = 0;
      logic(flags);
      left |= static_cast<std::uint32_t>(flags >> 4 & 1);
    };
    // 15 + 1 sets AF. pushfq would write below the stack pointer, where leaf functions keep things; lahf does not.
    af_after([](std::uint64_t& flags) {
      asm volatile("movb $15, %%al\n addb $1, %%al\n testb %%al, %%al\n lahf\n movzbl %%ah, %%eax" : "=a"(flags)::"cc");
    });
    af_after([](std::uint64_t& flags) {
      asm volatile("movb $15, %%al\n addb $1, %%al\n andb %%al, %%al\n lahf\n movzbl %%ah, %%eax" : "=a"(flags)::"cc");
    });
    af_after([](std::uint64_t& flags) {
      asm volatile("movb $15, %%al\n addb $1, %%al\n orb %%al, %%al\n lahf\n movzbl %%ah, %%eax" : "=a"(flags)::"cc");
    });
    af_after([](std::uint64_t& flags) {
      asm volatile("movb $15, %%al\n addb $1, %%al\n xorb %%al, %%al\n lahf\n movzbl %%ah, %%eax" : "=a"(flags)::"cc");
    });
    return left == 0;
  }();
  return writes;
}

bool overwrites_flags(const Insn& insn) {
  if (insn.flow != Flow::Plain || insn.memory_count != 0) return false;
  std::size_t at = 0;
  if (insn.bytes[at] == 0x66) ++at;
  if ((insn.bytes[at] & 0xF0u) == 0x40) ++at;
  const unsigned opcode = insn.bytes[at];
  const unsigned group = insn.bytes[at + 1] >> 3 & 7u;
  if (opcode < 0x40 && (opcode & 7u) <= 5) return writes_all(opcode >> 3);
  switch (opcode) {
    case 0x80:
    case 0x81:
    case 0x83: return writes_all(group);
    case 0x84:
    case 0x85:
    case 0xA8:
    case 0xA9: return logic_writes_af();  // TEST
    case 0xF6:
    case 0xF7: return group == 3 || (group == 0 && logic_writes_af());  // NEG, TEST
    default: return false;
  }
}

}  // namespace zs::isa
