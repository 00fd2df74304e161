// Replays what threads did to a line once more, with its bytes laid out in another way: how often would it still change
// hands? Each thread has a core of its own in a memory system like the one that was recorded, comes back to the line
// after as much work as it had then, and waits as long as it now has to.
//
// Not played: that a thread waits for what another one writes. One that spins on a lock spins as often as it did.
#pragma once

#include <array>
#include <cstdint>

#include "uarch/coherence/line_log.h"
#include "uarch/memory_parameters.h"

namespace zs::uarch {

/// For each byte of a line, which of the new lines it lies in: numbers from 0, below 64.
using LineLayout = std::array<std::uint8_t, kLineBytes>;

struct SharingCounts {
  std::uint64_t hand_overs = 0, hitm = 0, waited = 0;
  bool operator==(const SharingCounts&) const = default;
};

/// The counts if the stints of the log came to lines of that layout; of all the new lines together. An access of bytes
/// that lie apart goes where its first byte lies.
SharingCounts replay(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters);

/// The counts of the log, if its bytes were laid out so: what was counted, times what the replay says of the new layout
/// in terms of what it says of the old one. All 0 where the replay has none.
SharingCounts predicted(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters);

}  // namespace zs::uarch
