// Which register values a path has to store so that all its addresses can be computed afterwards. A slot holds one
// register as it was at one place of the path. What is a stored value plus a constant (the stack pointer behind a push,
// a pointer that was advanced) is not stored again.
//
// In a log (clear(true)) they hold more: all general registers and the flags as they are in front of the path, and
// behind each instruction what it changed, so that the thread's state after any of them is known although it has gone
// on since.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/core_feed.h"
#include "engine/isa_names.h"
#include "isa/accesses.h"

namespace zs::engine {

using arch::AddressTerm;

/// What one instruction of a path needs.
struct InsnSlots {
  struct Store {
    std::uint8_t reg, slot;
  };
  std::array<Store, 8> before{};  // in front of the instruction
  std::array<Store, 16> after{};  // behind it
  std::uint8_t stores_before = 0, stores_after = 0;
  std::uint8_t used = 0;                   // slots of the path up to and with this instruction
  std::vector<arch::PathAccess> accesses;  // as they are told, but for the number of the instruction
  // In a log, what else changes on the way to the registers behind the instruction: as Effects has it, and the slot of
  // the flags.
  std::int8_t target = -1, source = -1;
  std::int64_t delta = 0;
  std::uint8_t flags = AddressTerm::kNoSlot;
};

class AddressSlots {
 public:
  static constexpr unsigned kMost = 62;
  /// In a log, the registers in front of the path, by number; then its flags.
  static constexpr unsigned kLoggedFlags = 16, kLoggedAtStart = 17;

  void clear(bool log = false) {
    logs_ = log;
    used_ = log ? kLoggedAtStart : 0;
    for (std::uint8_t reg = 0; reg < values_.size(); ++reg)
      values_[reg] = log ? Value{.known = true, .slot = reg} : Value{};
  }
  /// The next instruction of the path. false: it needs more slots than there are; what was planned before stays good
  bool add(const Effects& effects, InsnSlots& out);

 private:
  /// Register = slot + delta, or delta alone.
  struct Value {
    bool known = false;
    std::uint8_t slot = AddressTerm::kNoSlot;
    std::int64_t delta = 0;
  };
  Value value_of(int reg, InsnSlots& out);
  void log(const Effects& effects, InsnSlots& out);

  bool logs_ = false;
  unsigned used_ = 0;
  std::array<Value, 16> values_{};
};

}  // namespace zs::engine
