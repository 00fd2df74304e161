// The rows of the uop table as the generated file has them (tools/uop_tables/generate). Others ask uop_table.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "uarch/timing/uop_columns.h"

namespace zs::uarch {

/// Execution ports, one bit each, numbered as the vendor does. Zen: 0-3 ALU, 4-6 AGU, 7 branch, 8-11 floating point,
/// 12-13 its loads, 14-15 stores.
using PortSet = std::uint16_t;

struct PortUse {
  PortSet ports = 0;        // any one of them
  std::uint8_t cycles = 0;  // how many uops, or for a unit that is not pipelined how many cycles
};

enum class UopSource : std::uint8_t {
  Unknown,    // no source has this form: one uop anywhere
  Llvm,       // LLVM's scheduling model of this core
  Corrected,  // tools/uop_tables/corrections.txt
  Derived,    // another core's cost on this core's ports
};

/// What an instruction form costs on one core.
struct UopClass {
  std::uint8_t slots = 1;    // issue slots: uops after micro-fusion
  std::uint8_t uops = 1;     // before it
  std::uint8_t latency = 1;  // from operands, or the loaded value, to the result
  std::uint8_t divider = 0;  // cycles that the divider is taken
  std::array<PortUse, 6> uses{};
  UopSource source = UopSource::Unknown;
};

namespace data {

struct FormRow {
  std::uint16_t mnemonic;   // of Zydis
  std::uint16_t signature;  // of InstructionShape
  std::array<std::uint16_t, kColumns> classes;
};

std::span<const FormRow> forms();

/// The classes of one column; the first is for what is not known.
std::span<const UopClass> classes(std::size_t column);

}  // namespace data
}  // namespace zs::uarch
