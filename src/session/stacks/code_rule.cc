#include "session/stacks/code_rule.h"

#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "isa/decode.h"

namespace zs::session {
namespace {

using isa::Flow;
using isa::Gpr;
using isa::Insn;
using isa::kLongestInstruction;
using Kind = RegisterRule::Kind;

/// General registers in the order of encodings, as DWARF numbers them.
constexpr std::array<std::uint8_t, 16> kDwarfOf{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/// What a register holds, in terms of what it was where the way began.
struct Value {
  enum class Of : std::uint8_t {
    Nothing,   // not known
    Register,  // the register's first value and `offset`
    Memory,    // the word at that address
  };
  Of of = Of::Nothing;
  Gpr reg = isa::kRax;
  std::int64_t offset = 0;
  bool operator==(const Value&) const = default;
};

class Follower {
 public:
  explicit Follower(const FetchCode& fetch) : fetch_(fetch) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = {.of = Value::Of::Register, .reg = static_cast<Gpr>(i), .offset = 0};
  }

  std::optional<FrameRule> follow(std::uint64_t pc, int longest) {
    for (int i = 0; i < longest; ++i) {
      std::array<std::byte, kLongestInstruction> bytes;
      const std::size_t got = fetch_(pc, bytes);
      const auto insn = isa::decode(pc, {reinterpret_cast<const std::uint8_t*>(bytes.data()), got}, false);
      if (!insn) return std::nullopt;
      if (arguments_dropped_ && insn->flow != Flow::Return && !is_push(*insn)) return std::nullopt;
      pc = insn->next();
      switch (insn->flow) {
        case Flow::Return: return at_return(insn->return_pop);
        case Flow::Jump: pc = insn->target; break;
        case Flow::ConditionalJump:
        case Flow::CounterJump: break;
        case Flow::Call:
        case Flow::IndirectCall: forget_what_calls_change(); break;
        // Out of the function, if its frame is gone; otherwise perhaps within it.
        case Flow::IndirectJump: return frame_is_gone_ ? at_return(0) : std::nullopt;
        case Flow::Plain:
        case Flow::Emulated:
          if (!apply(*insn)) return std::nullopt;
          if (const auto rule = behind_prologue()) return rule;
          break;
        default: return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  Value& sp() { return values_[isa::kRsp]; }

  static bool is_push(const Insn& insn) {
    const std::uint8_t opcode = insn.bytes[insn.opcode_at];
    return insn.modrm_at == 0 && opcode >= 0x50 && opcode <= 0x57;
  }

  void forget_what_calls_change() {
    for (const Gpr reg :
         {isa::kRax, isa::kRcx, isa::kRdx, isa::kRsi, isa::kRdi, isa::kR8, isa::kR9, isa::kR10, isa::kR11})
      values_[reg] = {};
  }

  /// RBP has just become the frame pointer, and the caller's was pushed before, on the way or where it began: so far
  /// it was a prologue.
  std::optional<FrameRule> behind_prologue() {
    if (!std::exchange(set_frame_pointer_, false)) return std::nullopt;
    if (sp().of != Value::Of::Register || sp().reg != isa::kRsp) return std::nullopt;
    const auto saved = stored_.find(sp().offset);
    const Value first_bp{.of = Value::Of::Register, .reg = isa::kRbp, .offset = 0};
    const bool began_behind_push = sp().offset == 0 && stored_.empty();
    if (!began_behind_push && (saved == stored_.end() || saved->second != first_bp)) return std::nullopt;
    FrameRule rule;
    rule.frame_offset = static_cast<std::int32_t>(sp().offset + 16);
    rule.registers[arch::kDwarfReturnAddress] = {Kind::AtFrame, -8};
    if (began_behind_push) rule.registers[arch::kDwarfBp] = {Kind::AtFrame, -16};
    return rule;
  }

  /// popped  bytes of arguments that the return takes away
  std::optional<FrameRule> at_return(std::uint16_t popped) {
    const Value top = sp();
    if (top.of != Value::Of::Register || (top.reg != isa::kRsp && top.reg != isa::kRbp)) return std::nullopt;
    FrameRule rule;
    rule.frame_register = kDwarfOf[top.reg];
    rule.frame_offset = static_cast<std::int32_t>(top.offset + 8);
    const Value target = load(top);
    const auto place = rule_of(target, top);
    if (!place) return std::nullopt;
    rule.registers[arch::kDwarfReturnAddress] = *place;
    if (popped != 0) rule.registers[arch::kDwarfSp] = {Kind::FramePlus, popped};
    for (const Gpr reg : {isa::kRbx, isa::kRbp, isa::kR12, isa::kR13, isa::kR14, isa::kR15}) {
      const Value& value = values_[reg];
      if (value.of == Value::Of::Register && value.reg == reg && value.offset == 0) continue;
      rule.registers[kDwarfOf[reg]] = rule_of(value, top).value_or(RegisterRule{Kind::Unknown, 0});
    }
    return rule;
  }

  /// Of a value, with the frame 8 bytes above `top`.
  static std::optional<RegisterRule> rule_of(const Value& value, const Value& top) {
    if (value.of == Value::Of::Memory && value.reg == top.reg)
      return RegisterRule{Kind::AtFrame, static_cast<std::int32_t>(value.offset - top.offset - 8)};
    if (value.of == Value::Of::Register && value.offset == 0)
      return RegisterRule{Kind::InRegister, kDwarfOf[value.reg]};
    return std::nullopt;
  }

  /// The word at an address; stores of the way itself were all made by pushes.
  Value load(const Value& address) const {
    if (address.of != Value::Of::Register) return {};
    if (address.reg == isa::kRsp) {
      const auto stored = stored_.find(address.offset);
      if (stored != stored_.end()) return stored->second;
    }
    return {.of = Value::Of::Memory, .reg = address.reg, .offset = address.offset};
  }

  void push(const Value& value) {
    sp().offset -= 8;
    if (sp().of == Value::Of::Register && sp().reg == isa::kRsp) stored_[sp().offset] = value;
  }
  void pop(unsigned reg) {
    const Value value = load(sp());
    sp().offset += 8;
    if (reg == isa::kRbp) frame_is_gone_ = true;
    values_[reg] = value;
  }

  static std::int32_t immediate_of(const Insn& insn, unsigned bytes) {
    std::int32_t value = 0;
    if (bytes == 1) return static_cast<std::int8_t>(insn.bytes[insn.length - 1U]);
    std::memcpy(&value, insn.bytes.data() + insn.length - 4, sizeof value);
    return value;
  }

  /// returns false if it does with RSP what is not followed
  bool apply(const Insn& insn) {
    // Legacy prefixes, VEX and EVEX begin nothing that is followed.
    const std::uint8_t rex = (insn.bytes[0] & 0xF0) == 0x40 ? insn.bytes[0] : 0;
    if (insn.opcode_at == (rex != 0 ? 1 : 0)) {
      if (insn.modrm_at == 0 && apply_short(insn.bytes[insn.opcode_at], rex)) return true;
      if (insn.modrm_at != 0 && (rex & 8) != 0 && apply_wide(insn, rex)) return true;
    }
    return forget_what_it_may_write(insn);
  }

  /// PUSH, POP, PUSHF, POPF, LEAVE.
  bool apply_short(std::uint8_t opcode, std::uint8_t rex) {
    const unsigned low = (opcode & 7U) | (rex & 1U) << 3;
    if (opcode >= 0x50 && opcode <= 0x57) {
      push(values_[low]);
    } else if (opcode >= 0x58 && opcode <= 0x5F) {
      pop(low);
    } else if (opcode == 0x68 || opcode == 0x6A || opcode == 0x9C) {
      push({});
    } else if (opcode == 0x9D) {
      sp().offset += 8;
    } else if (opcode == 0xC9) {
      sp() = values_[isa::kRbp];
      pop(isa::kRbp);
    } else {
      return false;
    }
    return true;
  }

  /// MOV between registers, ADD and SUB of a constant, LEA, MOV from memory: of 64 bits.
  bool apply_wide(const Insn& insn, std::uint8_t rex) {
    const std::uint8_t opcode = insn.bytes[insn.opcode_at];
    const std::uint8_t modrm = insn.bytes[insn.modrm_at];
    const unsigned middle = modrm >> 3 & 7U;
    const unsigned reg = middle | (rex & 4U) << 1, rm = (modrm & 7U) | (rex & 1U) << 3;
    const bool registers_only = modrm >> 6 == 3;
    if (registers_only && opcode == 0x89) {
      move(rm, reg);
    } else if (registers_only && opcode == 0x8B) {
      move(reg, rm);
    } else if (registers_only && (opcode == 0x83 || opcode == 0x81) && (middle == 0 || middle == 5)) {
      const std::int64_t value = immediate_of(insn, opcode == 0x83 ? 1 : 4);
      values_[rm].offset += middle == 0 ? value : -value;
    } else if (opcode == 0x8D) {
      load_address(insn, reg);
    } else if (!registers_only && opcode == 0x8B) {
      values_[reg] = load(address_of(insn));
    } else {
      return false;
    }
    return true;
  }

  void move(unsigned to, unsigned from) {
    values_[to] = values_[from];
    set_frame_pointer_ = to == isa::kRbp && from == isa::kRsp;
    frame_is_gone_ = frame_is_gone_ && to != isa::kRbp;
  }

  Value address_of(const Insn& insn) const {
    if (insn.memory_count == 0 || insn.memory[0].base < 0 || insn.memory[0].index >= 0 || insn.memory[0].rip_relative ||
        insn.memory[0].fs || insn.memory[0].gs)
      return {};
    Value value = values_[static_cast<std::uint8_t>(insn.memory[0].base)];
    if (value.of != Value::Of::Register) return {};
    value.offset += insn.memory[0].displacement;
    return value;
  }
  /// LEA touches no memory, so its operand is read here: [base + displacement] alone.
  void load_address(const Insn& insn, unsigned reg) {
    const std::uint8_t modrm = insn.bytes[insn.modrm_at];
    const std::uint8_t rex = insn.bytes[insn.opcode_at - 1U];
    const unsigned mode = modrm >> 6;
    unsigned base = (modrm & 7U) | (rex & 1U) << 3;
    const bool sib = (modrm & 7) == 4;
    if (sib) {
      const std::uint8_t byte = insn.bytes[insn.modrm_at + 1U];
      base = (byte & 7U) | (rex & 1U) << 3;
      const bool has_index = (byte >> 3 & 7) != 4 || (rex & 2) != 0;
      if (has_index && reg == isa::kRsp && base == isa::kRsp && mode == 0) {
        arguments_dropped_ = true;
        return;
      }
      if (has_index) base = 16;
    }
    if (base == 16 || (mode == 0 && (base & 7U) == 5)) {
      values_[reg] = {};
      return;
    }
    Value value = values_[base];
    if (mode != 0) value.offset += immediate_of(insn, mode == 1 ? 1 : 4);
    values_[reg] = value;
  }

  /// Which of its registers an instruction writes is not looked at: all that it names are forgotten, but RSP and RBP
  /// where it only
  /// addresses by them, or compares or stores RSP.
  bool forget_what_it_may_write(const Insn& insn) {
    if (insn.mentions(isa::kRsp) && !addresses_by(insn, isa::kRsp) && !only_reads(insn)) return false;
    for (unsigned reg = 0; reg < values_.size(); ++reg) {
      const auto gpr = static_cast<Gpr>(reg);
      const bool stays = gpr == isa::kRsp || (gpr == isa::kRbp && addresses_by(insn, gpr));
      if (insn.mentions(gpr) && !stays) values_[reg] = {};
    }
    return true;
  }
  static bool addresses_by(const Insn& insn, Gpr reg) {
    constexpr std::uint8_t kLea = 0x8D;
    for (std::size_t i = 0; i < insn.memory_count; ++i) {
      if (insn.memory[i].base == static_cast<std::int8_t>(reg)) return true;
    }
    return insn.memory_count == 0 && insn.modrm_at != 0 && insn.bytes[insn.opcode_at] == kLea;
  }
  /// CMP, TEST, and MOV to memory.
  static bool only_reads(const Insn& insn) {
    const std::uint8_t opcode = insn.bytes[insn.opcode_at];
    if (insn.modrm_at == 0) return false;
    const std::uint8_t modrm = insn.bytes[insn.modrm_at];
    const bool compares_constant = (opcode == 0x81 || opcode == 0x83) && (modrm >> 3 & 7) == 7;
    return (opcode >= 0x38 && opcode <= 0x3B) || opcode == 0x85 || compares_constant ||
           (opcode == 0x89 && modrm >> 6 != 3);
  }

  const FetchCode& fetch_;
  std::array<Value, 16> values_;
  std::map<std::int64_t, Value> stored_;  // by distance from the first RSP
  bool set_frame_pointer_ = false, frame_is_gone_ = false;
  /// lea rsp, [rsp + count*8], as V8 returns where it was called with more arguments than it declares: the return
  /// address is in a register, and pushed again next. RSP counts as if there were none: the caller, of a JIT too, has a
  /// frame pointer.
  bool arguments_dropped_ = false;
};

}  // namespace

std::optional<FrameRule> rule_of_code(std::uint64_t pc, const FetchCode& fetch, int longest) {
  return Follower(fetch).follow(pc, longest);
}

std::optional<FrameRule> rule_of_signal_return(std::uint64_t pc, const FetchCode& fetch) {
  // mov rax, 15 (as long as it can be, and as short); syscall
  static constexpr std::array<std::uint8_t, 9> kLong{0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05};
  static constexpr std::array<std::uint8_t, 7> kShort{0xB8, 0x0F, 0, 0, 0, 0x0F, 0x05};
  std::array<std::byte, kLong.size()> bytes{};
  const std::size_t got = fetch(pc, bytes);
  const auto is = [&](const auto& pattern) {
    return got >= pattern.size() && std::memcmp(bytes.data(), pattern.data(), pattern.size()) == 0;
  };
  if (!is(kLong) && !is(kShort)) return std::nullopt;
  // struct ucontext: flags, link, stack (24 bytes), then struct sigcontext: r8 to r15, di, si, bp, bx, dx, ax, cx, sp,
  // ip
  // source: Linux, arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64
  constexpr std::int32_t kContext = 40;
  static constexpr std::array<std::uint8_t, arch::kDwarfRegisters> kOrder{arch::kDwarfR8,
                                                                          9,
                                                                          10,
                                                                          11,
                                                                          12,
                                                                          13,
                                                                          14,
                                                                          arch::kDwarfR15,
                                                                          arch::kDwarfDi,
                                                                          arch::kDwarfSi,
                                                                          arch::kDwarfBp,
                                                                          arch::kDwarfBx,
                                                                          arch::kDwarfDx,
                                                                          arch::kDwarfAx,
                                                                          arch::kDwarfCx,
                                                                          arch::kDwarfSp,
                                                                          arch::kDwarfReturnAddress};
  FrameRule rule;
  rule.frame_offset = kContext;
  rule.interrupts = rule.begins = true;
  for (std::size_t i = 0; i < kOrder.size(); ++i)
    rule.registers[kOrder[i]] = {Kind::AtFrame, static_cast<std::int32_t>(8 * i)};
  return rule;
}

}  // namespace zs::session
