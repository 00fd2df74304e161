// In which way the runs of a program were simulated. All ways count the same, so nothing that is reported depends on
// it; tests and benchmarks ask, because a fast way that is never taken looks like one that is.
#pragma once

#include <cstdint>

namespace zs::uarch {

struct SimulationWork {
  std::uint64_t by_code = 0;      // runs: by specialised code (replay_code.h)
  std::uint64_t by_block = 0;     // runs: whole blocks of nothing but plain accesses
  std::uint64_t by_step = 0;      // runs: one access after the other
  std::uint64_t callouts = 0;     // times that the code asked for what it does not do itself
  std::uint64_t code_resets = 0;  // times that the room for code was full and all of it was dropped

  SimulationWork& operator+=(const SimulationWork& more) {
    by_code += more.by_code;
    by_block += more.by_block;
    by_step += more.by_step;
    callouts += more.callouts;
    code_resets += more.code_resets;
    return *this;
  }
};

}  // namespace zs::uarch
