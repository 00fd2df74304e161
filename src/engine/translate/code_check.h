// Code in memory that others may write: another process, or this one through another mapping of the same file, as
// just-in-time compilers do that never map a page both writable and executable. No fault tells of such a write. So a
// translation begins by comparing the bytes it was made of with those that are there now, eight at a time and without
// touching flags, and may then be linked to like any other. Where they differ it leaves, and is made anew.
// A write that comes while the block runs is seen at its next entry; a processor may be as late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/translate/emitter.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class CodeCheck {
 public:
  /// In front of the first instruction of `path`, which has one, with nothing of the program spilled or renamed.
  /// exit_id  of the exit where the bytes differ
  void emit(Emitter& out, const Path& path, std::uint32_t exit_id);
  /// Behind the block's code: that exit, if there was a check.
  /// leave  the stub that reads its id
  void emit_exit(Emitter& out, std::uint64_t leave);

 private:
  void emit_comparisons(Emitter& out, std::uint64_t address, const std::vector<std::uint8_t>& bytes);
  void emit_comparison(Emitter& out, std::uint64_t address, std::uint64_t expected, std::size_t size);

  std::uint32_t exit_id_ = kNone;
  std::vector<std::uint64_t> jumps_;  // to the exit: ends of their rel32
};

}  // namespace zs::engine
