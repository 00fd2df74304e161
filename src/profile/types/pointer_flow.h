// What the pointers in the registers of a function point to, at each of its instructions. Where debug information says
// that a register holds a variable, it is that variable's type; from there it is followed through the function's code:
// copies, loads of pointers through known pointers, steps by a constant, what was put aside on the stack, what
// functions return. Where ways through the code meet, what they do not agree on is unknown.
//
// Variables of threads are those of executables, whose place is fixed from the thread pointer on.
//
// Left out: what is stored in memory other than the function's own frame comes back only as its declared type, and a
// function above kMostInsns instructions has only what debug information says at each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/decode.h"
#include "profile/perf_data/addresses.h"
#include "profile/types/data_types.h"
#include "profile/types/function_variables.h"

namespace zs::profile {

/// What a register holds.
struct PointerValue {
  enum class Kind : std::uint8_t { Unknown, Points, Frame, Thread };
  Kind kind = Kind::Unknown;
  DataTypes::Type type = 0;  // Points: what it points into; no array
  std::int64_t offset = 0;   // Points: how far into it; Frame: from the frame address; Thread: from the thread pointer
  bool operator==(const PointerValue&) const = default;
};

/// The values before an instruction.
struct PointerState {
  std::array<PointerValue, 16> registers;
  std::vector<std::pair<std::int64_t, PointerValue>> slots;  // put aside, by place from the frame address

  /// reg  as instructions encode it, 0 to 15
  PointerValue& of(std::int8_t reg) { return registers[static_cast<std::uint8_t>(reg)]; }
  const PointerValue& of(std::int8_t reg) const { return registers[static_cast<std::uint8_t>(reg)]; }
  bool operator==(const PointerState&) const = default;
};

/// What an operand touches, as far as code tells.
struct OperandPart {
  DataTypes::Type type = 0;
  std::uint64_t offset = 0;               // in a value of the type, where an index is 0
  const std::string* variable = nullptr;  // the one that it is; null: what a register points to
  std::int8_t pointer = -1;               // that register
};

class PointerFlow {
 public:
  /// Both must outlive this.
  PointerFlow(DataTypes& types, FunctionTable& functions);
  ~PointerFlow();
  PointerFlow(const PointerFlow&) = delete;
  PointerFlow& operator=(const PointerFlow&) = delete;

  /// chosen: a thousand times the usual; what is longer was made by a program.
  static constexpr std::size_t kMostInsns = 20000;
  /// chosen: how often each of its instructions is gone through in the mean, until all ways agree. Functions that were
  /// compiled take less than ten.
  static constexpr std::size_t kMostRounds = 100;
  /// chosen: pointers that are put aside at a time.
  static constexpr std::size_t kMostSlots = 200;

  std::optional<OperandPart> part_of(ImageAddress pc, const isa::MemoryOperand& operand, std::uint64_t next);

 private:
  class Function;
  Function& function_at(ImageAddress pc);

  DataTypes& types_;
  FunctionTable& functions_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Function>> flows_;  // by where the function's symbol begins
};

}  // namespace zs::profile
