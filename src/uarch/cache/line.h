// A line of modelled physical memory, and what a cache knows of it.
#pragma once

#include <cstdint>

#include "uarch/memory_parameters.h"

namespace zs::uarch {

/// Number of a line: its physical address / 64. 32 bits are 256 GiB, and a whole line number is its own tag.
using Line = std::uint32_t;
inline constexpr Line kNoLine = ~Line{0};

/// Number of a page of 4 KiB in physical memory.
using Frame = std::uint32_t;

constexpr Frame frame_of(Line line) { return line >> (kPageBits - kLineBits); }
constexpr unsigned line_in_page(std::uint64_t line) { return static_cast<unsigned>(line % kLinesPerPage); }
/// linear_line  linear address / 64, in a page that has this frame
constexpr Line line_of(Frame frame, std::uint64_t linear_line) {
  return frame << (kPageBits - kLineBits) | line_in_page(linear_line);
}

/// M is exclusive and dirty, E exclusive, S neither; I is not being there.
enum LineFlags : std::uint8_t {
  kSharedLine = 0,
  kExclusive = 1,   // no other core has it: a store needs to ask nobody
  kDirty = 2,       // memory is older
  kPrefetched = 4,  // came by prefetch and has not been used yet
};

constexpr LineFlags operator|(LineFlags a, LineFlags b) { return static_cast<LineFlags>(unsigned{a} | unsigned{b}); }
constexpr LineFlags operator&(LineFlags a, LineFlags b) { return static_cast<LineFlags>(unsigned{a} & unsigned{b}); }
constexpr LineFlags without(LineFlags flags, LineFlags gone) {
  return static_cast<LineFlags>(unsigned{flags} & ~unsigned{gone});
}

/// What an insertion threw out; kNoLine: nothing.
struct EvictedLine {
  Line line = kNoLine;
  LineFlags flags = kSharedLine;
};

}  // namespace zs::uarch
