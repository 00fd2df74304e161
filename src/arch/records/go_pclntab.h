// The table of functions that Go programs carry, .gopclntab: their runtime names and unwinds functions by it, and what
// strips symbols leaves it.
// source: Go 1.18 to 1.24, src/runtime/symtab.go: pcHeader, functab, _func.
#pragma once

#include <cstdint>

namespace zs::arch {

/// The beginning of pcHeader.
struct GoTableHeader {
  std::uint32_t magic;
  std::uint16_t zeros;
  std::uint8_t code_unit, pointer_bytes;
  std::uint64_t functions, files, text, names_at, units_at, files_at, deltas_at, functions_at;

  bool known() const {
    return (magic == kGo118 || magic == kGo120) && pointer_bytes == 8 && functions <= kMostFunctions;
  }

  static constexpr std::uint32_t kGo118 = 0xFFFF'FFF0, kGo120 = 0xFFFF'FFF1;
  static constexpr std::uint64_t kMostFunctions = std::uint64_t{1} << 28;
};
static_assert(sizeof(GoTableHeader) == 72);

/// An entry of functab, at functions_at; the one behind the last is the end of the text.
struct GoPlace {
  std::uint32_t code, function;  // distances from the text and from functions_at
};

/// _func, its beginning.
struct GoFunction {
  std::uint32_t code, name, arguments, deferred_return, stack_deltas;  // name: distance from names_at
};

}  // namespace zs::arch
