// Where the variables of a function are at each of its instructions: location lists, frame bases and pieces, as the
// debug information has them, in terms of general registers.
//
// Left out: what has to be computed from memory or from the caller's registers (entry values), which no register holds
// at the instruction itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/perf_data/addresses.h"
#include "profile/types/data_types.h"

namespace zs::profile {

/// The canonical frame address, as if it were a register behind the general ones.
inline constexpr std::uint8_t kFrameAddress = 16;

/// A variable, or a piece of one, in a range of code.
struct VariablePlace {
  enum class In : std::uint8_t {
    Register,         // its value is in `base`
    Sum,              // its value is base + offset
    Memory,           // it lies at base + offset
    PointedFromThere  // at base + offset lies its address
  };
  ImageAddress start{}, end{};
  In in = In::Register;
  std::uint8_t base = 0;  // a register, as instructions encode it, or kFrameAddress
  std::int64_t offset = 0;
  std::uint64_t stride = 0;  // of what is added besides, a multiple of it: an index times an element's size; 0: nothing
  DataTypes::Type type = 0;  // of the whole variable
  std::uint64_t piece = 0;   // where in it the piece begins
  std::uint64_t size = 0;    // of the piece
  const std::string* name = nullptr;
  bool covers(ImageAddress pc) const { return pc >= start && pc < end; }
};

struct FunctionVariables {
  std::vector<VariablePlace> places;
  DataTypes::Type returned = 0;  // what the pointer points to that it returns
};

class FunctionTable {
 public:
  /// types  must outlive this
  explicit FunctionTable(DataTypes& types);
  ~FunctionTable();
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  /// Of the function that has its code at the address; null: no debug information knows of one.
  const FunctionVariables* at(ImageAddress address);
  /// The frame address before the instruction there, as a general register plus an offset, by the unwind tables.
  struct FrameRule {
    std::uint8_t base = kFrameAddress;  // itself: not so simple, or not known
    std::int64_t offset = 0;
    ImageAddress start{}, end{};  // where it is so
  };
  FrameRule frame_at(ImageAddress address);

 private:
  class Reader;
  struct Unit;
  Unit& unit_of(void* unit, std::uint64_t bias);

  DataTypes& types_;
  std::unordered_map<void*, std::unique_ptr<Unit>> units_;  // by libdw's entry
};

}  // namespace zs::profile
