#include "session/stacks/call_frame_info.h"

#include <dwarf.h>

#include <limits>
#include <string_view>

namespace zs::session {
namespace {

using Kind = RegisterRule::Kind;

constexpr std::size_t kMostRemembered = 64;  // rules on DW_CFA_remember_state's stack

/// Instructions whose operand is in the low six bits.
constexpr std::uint8_t kHighMask = 0xC0, kLowMask = 0x3F;

/// Runs the instructions up to an address.
class Interpreter {
 public:
  Interpreter(const CommonFrameInfo& common, Expressions& expressions) : common_(common), expressions_(expressions) {}

  /// returns false if they are damaged
  bool run(ByteReader in, std::uint64_t location, std::uint64_t pc) {
    while (in.ok() && in.remaining() != 0) {
      const auto opcode = in.read<std::uint8_t>();
      const std::uint64_t before = location;
      if (!step(in, opcode, location)) return false;
      if (location != before && location > pc) return in.ok();
    }
    return in.ok();
  }
  /// What holds now is what DW_CFA_restore goes back to.
  void begin_function() { initial_ = rule; }

  FrameRule rule;

 private:
  bool step(ByteReader& in, std::uint8_t opcode, std::uint64_t& location) {
    switch (opcode & kHighMask) {
      case DW_CFA_advance_loc: location += (opcode & kLowMask) * common_.code_unit; return true;
      case DW_CFA_offset: return set(opcode & kLowMask, Kind::AtFrame, scaled(read_uleb(in)));
      case DW_CFA_restore: return restore(opcode & kLowMask);
      default: break;
    }
    switch (opcode) {
      case DW_CFA_nop: return true;
      case DW_CFA_set_loc: location = read_pointer(in, common_.pointers); return true;
      case DW_CFA_advance_loc1: location += in.read<std::uint8_t>() * common_.code_unit; return true;
      case DW_CFA_advance_loc2: location += in.read<std::uint16_t>() * common_.code_unit; return true;
      case DW_CFA_advance_loc4: location += in.read<std::uint32_t>() * common_.code_unit; return true;
      case DW_CFA_remember_state:
        if (remembered_.size() == kMostRemembered) return false;
        remembered_.push_back(rule);
        return true;
      case DW_CFA_restore_state:
        if (remembered_.empty()) return false;
        rule = remembered_.back();
        remembered_.pop_back();
        return true;
      case DW_CFA_GNU_args_size: read_uleb(in); return true;
      case DW_CFA_def_cfa:
      case DW_CFA_def_cfa_sf:
      case DW_CFA_def_cfa_register:
      case DW_CFA_def_cfa_offset:
      case DW_CFA_def_cfa_offset_sf:
      case DW_CFA_def_cfa_expression: return step_of_frame(in, opcode);
      default: return step_of_register(in, opcode);
    }
  }

  bool step_of_frame(ByteReader& in, std::uint8_t opcode) {
    switch (opcode) {
      case DW_CFA_def_cfa: {
        const std::uint64_t reg = read_uleb(in);
        return set_frame(reg, static_cast<std::int64_t>(read_uleb(in)));
      }
      case DW_CFA_def_cfa_sf: {
        const std::uint64_t reg = read_uleb(in);
        return set_frame(reg, in_bytes(read_sleb(in)));
      }
      case DW_CFA_def_cfa_register: return !rule.by_expression && set_frame(read_uleb(in), rule.frame_offset);
      case DW_CFA_def_cfa_offset:
        return !rule.by_expression && set_frame(rule.frame_register, static_cast<std::int64_t>(read_uleb(in)));
      case DW_CFA_def_cfa_offset_sf:
        return !rule.by_expression && set_frame(rule.frame_register, in_bytes(read_sleb(in)));
      case DW_CFA_def_cfa_expression:
        rule.by_expression = true;
        rule.frame_register = 0;
        rule.frame_offset = read_expression(in);
        return true;
      default: return false;
    }
  }

  bool step_of_register(ByteReader& in, std::uint8_t opcode) {
    if (opcode < DW_CFA_offset_extended ||
        (opcode > DW_CFA_val_expression && opcode != DW_CFA_GNU_negative_offset_extended))
      return false;
    const std::uint64_t reg = read_uleb(in);
    switch (opcode) {
      case DW_CFA_offset_extended: return set(reg, Kind::AtFrame, scaled(read_uleb(in)));
      case DW_CFA_offset_extended_sf: return set(reg, Kind::AtFrame, in_bytes(read_sleb(in)));
      case DW_CFA_GNU_negative_offset_extended: return set(reg, Kind::AtFrame, -scaled(read_uleb(in)));
      case DW_CFA_val_offset: return set(reg, Kind::FramePlus, scaled(read_uleb(in)));
      case DW_CFA_val_offset_sf: return set(reg, Kind::FramePlus, in_bytes(read_sleb(in)));
      case DW_CFA_restore_extended: return restore(reg);
      case DW_CFA_undefined: return set(reg, Kind::Unknown, 0);
      case DW_CFA_same_value: return set(reg, Kind::Same, 0);
      case DW_CFA_register: {
        const std::uint64_t other = read_uleb(in);
        return other < arch::kDwarfRegisters && set(reg, Kind::InRegister, static_cast<std::int64_t>(other));
      }
      case DW_CFA_expression: return set(reg, Kind::AtExpression, read_expression(in));
      case DW_CFA_val_expression: return set(reg, Kind::ByExpression, read_expression(in));
      default: return false;
    }
  }

  static constexpr std::int64_t kTooLarge = std::numeric_limits<std::int64_t>::max();

  /// In bytes; kTooLarge if that does not fit.
  std::int64_t in_bytes(std::int64_t units) const {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(units, common_.data_unit, &product) && fits(product) ? product : kTooLarge;
  }
  std::int64_t scaled(std::uint64_t units) const { return in_bytes(static_cast<std::int64_t>(units)); }

  std::int32_t read_expression(ByteReader& in) { return expressions_.number_of(in.take(read_uleb(in))); }

  static bool fits(std::int64_t value) {
    return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
  }

  bool set_frame(std::uint64_t reg, std::int64_t offset) {
    if (reg >= arch::kDwarfReturnAddress || !fits(offset)) return false;
    rule.by_expression = false;
    rule.frame_register = static_cast<std::uint8_t>(reg);
    rule.frame_offset = static_cast<std::int32_t>(offset);
    return true;
  }

  /// Vector registers and others that no frame is found by are passed over.
  bool set(std::uint64_t reg, Kind kind, std::int64_t value) {
    if (!fits(value)) return false;
    if (reg < rule.registers.size()) rule.registers[reg] = {kind, static_cast<std::int32_t>(value)};
    return true;
  }
  bool restore(std::uint64_t reg) {
    if (reg < rule.registers.size()) rule.registers[reg] = initial_.registers[reg];
    return true;
  }

  const CommonFrameInfo& common_;
  Expressions& expressions_;
  FrameRule initial_;
  std::vector<FrameRule> remembered_;
};

}  // namespace

std::optional<CommonFrameInfo> read_common(ByteReader in) {
  CommonFrameInfo common;
  const auto version = in.read<std::uint8_t>();
  if (version != 1 && version != 3) return std::nullopt;
  const std::string_view augmentation = in.take_c_string();
  common.code_unit = read_uleb(in);
  common.data_unit = read_sleb(in);
  common.return_register = version == 1 ? in.read<std::uint8_t>() : read_uleb(in);
  for (const char letter : augmentation) {
    switch (letter) {
      case 'z':
        read_uleb(in);
        common.sized_augmentation = true;
        break;
      case 'R': common.pointers.bits = in.read<std::uint8_t>(); break;
      case 'L': in.skip(1); break;
      case 'P': {
        const PointerEncoding personality{in.read<std::uint8_t>()};
        read_pointer(in, personality);
        break;
      }
      case 'S': common.interrupts = true; break;
      default: return std::nullopt;
    }
  }
  if (!in.ok() || common.return_register != arch::kDwarfReturnAddress) return std::nullopt;
  const Bytes rest = in.take(in.remaining());
  common.instructions.assign(rest.begin(), rest.end());
  return common;
}

std::optional<FunctionFrameInfo> read_function(ByteReader in, const CommonFrameInfo& common) {
  FunctionFrameInfo function;
  function.start = read_pointer(in, common.pointers);
  function.length = read_pointer(in, common.pointers.form());
  if (common.sized_augmentation) in.skip(read_uleb(in));
  if (!in.ok()) return std::nullopt;
  function.instructions = in.take(in.remaining());
  return function;
}

std::optional<FrameRule> rule_at(const CommonFrameInfo& common, const FunctionFrameInfo& function, std::uint64_t pc,
                                 Expressions& expressions) {
  Interpreter interpreter(common, expressions);
  if (!interpreter.run(ByteReader(common.instructions), function.start, pc)) return std::nullopt;
  interpreter.begin_function();
  if (!interpreter.run(ByteReader(function.instructions), function.start, pc)) return std::nullopt;
  interpreter.rule.interrupts = interpreter.rule.begins = common.interrupts;
  return interpreter.rule;
}

}  // namespace zs::session
