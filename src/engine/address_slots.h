// Which register values a path has to store so that all its addresses can be computed afterwards. A slot holds one register as it
// was at one place of the path. What is a stored value plus a constant (the stack pointer behind a push, a pointer that was
// advanced) is not stored again.
//
// In a log (clear(true)) they hold more: all general registers and the flags as they are in front of the path, and behind each
// instruction what it changed, so that the thread's state after any of them is known although it has gone on since.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/accesses.h"

namespace zs::engine {

/// An address, or the words of a repeated or listed access, as a sum over a path's slots.
struct AddressTerm {
  static constexpr std::uint8_t kNoSlot = 63;  // reads as 0
  enum Flags : std::uint8_t {
    kFs = 1,
    kGs = 2,
    kAddress32 = 4,
    kBitString = 8,  // `part` is a signed bit offset as wide as the operand: in words of its size
    kLowByte = 16,   // the lowest byte of `part` is added (XLAT)
    kRepeated = 32,  // `index` is the base's register after the instruction
    kListed = 64,    // the words are not in slots
  };
  std::int64_t displacement = 0;
  std::uint8_t base = kNoSlot, index = kNoSlot;
  std::uint8_t scale = 0;
  std::uint8_t flags = 0;
  std::uint8_t part = kNoSlot;
  std::uint16_t bytes = 0;  // of one element
};
static_assert(sizeof(AddressTerm) == 16);

/// What one instruction of a path needs.
struct InsnSlots {
  struct Store {
    std::uint8_t reg, slot;
  };
  std::array<Store, 8> before{};  // in front of the instruction
  std::array<Store, 16> after{};  // behind it
  std::uint8_t stores_before = 0, stores_after = 0;
  std::uint8_t used = 0;  // slots of the path up to and with this instruction
  struct Term {
    AddressTerm term;
    arch::AccessKind kind;
    arch::AccessForm form;
  };
  std::vector<Term> terms;  // by access
  // In a log, what else changes on the way to the registers behind the instruction: as Effects has it, and the slot of the flags.
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
