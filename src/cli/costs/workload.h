// A program that does a little of everything: sorting (branches that cannot be foreseen), looking up (loads that miss),
// and arithmetic over rows (loops). The same on every machine.
#pragma once

#include <cstdint>

namespace zs::cli {

/// Some milliseconds of a processor of today for each round. returns a sum over everything, so that none of it can be
/// left out
std::uint64_t do_workload(std::uint64_t rounds);

}  // namespace zs::cli
