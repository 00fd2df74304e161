// How long whoever runs a program tells a core of every access to the lines of LineSample (core_feed.h) where it tells
// nothing else: so many stretches between units, from the first on. In those behind it tells of CoreFeed::beyond_l2()
// alone. What a program brings into its caches while it starts is asked for by other instructions later.
#pragma once

#include <cstdint>

namespace zs::arch {

/// chosen: about forty units lie in the first 100 million instructions; the tests cost less than a tenth of a second
/// there
inline constexpr std::uint64_t kStretchesReportedInFull = 40;

}  // namespace zs::arch
