// Where the registers of a caller are, seen from one place of its callee: a row of an unwind table.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "arch/dwarf_registers.h"
#include "base/bytes.h"

namespace zs::session {

struct RegisterRule {
  enum class Kind : std::uint8_t {
    Same,          // it has not changed
    Unknown,       // nothing keeps it; of the return address: nobody called
    AtFrame,       // in memory, `value` bytes from the frame's address
    FramePlus,     // the frame's address and `value`
    InRegister,    // `value` is a register
    AtExpression,  // in memory, at the result of expression number `value`
    ByExpression,  // the result itself
  };
  Kind kind = Kind::Same;
  std::int32_t value = 0;
  auto operator<=>(const RegisterRule&) const = default;
};

/// The frame's address (DWARF: CFA) is what RSP was before the call instruction pushed the return address.
struct FrameRule {
  bool by_expression = false;  // `frame_offset` is its number
  std::uint8_t frame_register = arch::kDwarfSp;
  std::int32_t frame_offset = 8;
  bool interrupts =
      false;            // the caller was interrupted (this is a signal handler's frame): it goes on at the very address
  bool begins = false;  // no call is before this place: it is given by its address, not by that of a call
  bool guessed = false;  // nothing says that it holds here
  std::array<RegisterRule, arch::kDwarfRegisters> registers{};
  auto operator<=>(const FrameRule&) const = default;

  /// The guess that a function keeps frame pointers and is behind its prologue.
  static constexpr FrameRule by_frame_pointer() {
    FrameRule rule;
    rule.guessed = true;
    rule.frame_register = arch::kDwarfBp;
    rule.frame_offset = 16;
    rule.registers[arch::kDwarfBp] = {RegisterRule::Kind::AtFrame, -16};
    rule.registers[arch::kDwarfReturnAddress] = {RegisterRule::Kind::AtFrame, -8};
    return rule;
  }
};

/// DWARF expressions of rules, each kept once and named by its number.
class Expressions {
 public:
  std::int32_t number_of(Bytes expression) {
    const auto next = static_cast<std::int32_t>(list_.size());
    const std::string key(reinterpret_cast<const char*>(expression.data()), expression.size());
    const auto [found, added] = numbers_.try_emplace(key, next);
    if (added) list_.push_back(&found->first);
    return found->second;
  }
  Bytes operator[](std::int32_t number) const {
    return std::as_bytes(std::span(*list_[static_cast<std::size_t>(number)]));
  }

 private:
  std::map<std::string, std::int32_t> numbers_;
  std::vector<const std::string*> list_;
};

}  // namespace zs::session
