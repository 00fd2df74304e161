// Runs single instructions of the program in C++, where a translation of them would be made for once: the last ones before an overflow, in
// code where no sample was taken before. Only what compiled code does with general registers, flags and memory, and moves of vectors;
// whatever else there is says so and runs as a translation.
// Flags that the manual leaves undefined are the host's: multiplications, shifts and bit tests are done by the host's own instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zs::engine {

/// What the instruction finds and changes.
struct InterpretedState {
  std::uint64_t (&gpr)[16];  // in encoding order
  std::uint64_t& flags;      // neither TF nor AC may be set
  std::uint64_t& pc;
  std::uint64_t fs;  // base
  std::byte* xsave;  // area of XSAVE, standard format
};

/// Runs the instruction at `state.pc`, which begins with the 15 bytes at `code`.
/// returns false where it is none of those that are known here, or its memory refused: nothing has changed then
bool interpret(InterpretedState& state, const std::uint8_t* code);

}  // namespace zs::engine
