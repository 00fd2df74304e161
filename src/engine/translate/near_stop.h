// The last block before an overflow. A block of Variant::Near compares the trace pointer at the boundaries of its
// instructions with what it is there if the overflow is next, or was just now (NearCode::emit_stop_check). Before that
// block is entered the stop is chosen: before the instruction that may not run unobserved, or behind it. Where it is
// known what the overflow will do (pmu::Pmu::repeating), the state at the stop is put aside for C++, and the program
// goes on at once, with the next period. Called by translated code with the program's vector registers, flags and
// thread-local storage in place, so it is compiled for general registers only, calls nothing, and makes no unaligned
// access (the program may have the alignment check on).
// A jump put over the block's code instead, and taken away behind it, cost 1300 to 1700 ticks, four starts of the
// pipeline: tried, left.
#pragma once

#include <cstdint>

#include "engine/translate/context.h"

namespace zs::engine {

/// Lies behind the code of a block of Variant::Near, with 4-byte alignment.
struct NearTable {
  std::uint32_t block;                                     // its index
  std::uint32_t entry;                                     // cache addresses, below 2 GiB: of the block,
  std::uint32_t resume;                                    // of what follows its check,
  std::uint32_t over;                                      // of the way to its like in Variant::Full,
  std::uint32_t leave;                                     // and of the way back to C++
  std::uint32_t end;                                       // the trace pointer at which nothing more may run
  std::uint32_t instructions;                              // followed by so many words:
  static constexpr std::uint32_t kOffset = 0xFFFF;         // of the instruction's code, from entry
  static constexpr std::uint32_t kPlain = 0x8000'0000;     // InsnMeta::plain
  static constexpr std::uint32_t kForeseen = 0x4000'0000;  // InsnMeta::foreseen
};

}  // namespace zs::engine

/// The block of Context::near_table may not run as a whole. Chooses the stop in it; or, behind a stop, goes over to
/// Variant::Full. returns where the translated code goes on
extern "C" std::uint64_t zs_choose_stop(zs::engine::Context* context);
/// The stop was reached, and the registers are in the Context. Puts them aside if it may be passed.
/// returns where the translated code goes on; 0: in C++
extern "C" std::uint64_t zs_pass_stop(zs::engine::Context* context);
