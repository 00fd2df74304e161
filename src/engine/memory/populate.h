// Pages that are about to be used, made present all at once. What costs is the fault, not the page: on a virtual
// machine of two processors a first touch takes 13 to 16 us, and a page of hundreds that are asked for together takes
// one.
#pragma once

#include <cstdint>

#include "engine/memory/layout.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

/// source: madvise(2), Linux 5.14. Older kernels know neither, and then each page comes with its own fault.
enum class Populate : int { ForReading = 22, ForWriting = 23 };

/// The pages that `range` touches, of one or more mappings. Where some cannot be had, those before them are there,
/// and nothing else happens.
inline void populate(AddressRange range, Populate how) {
  const std::uint64_t start = page_down(range.start);
  raw_syscall(SYS_madvise, start, page_up(range.end) - start, static_cast<int>(how));
}

}  // namespace zs::engine
