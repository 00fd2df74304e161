// What a modelled core has beside its part of the memory system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "uarch/branch/branch_unit.h"
#include "uarch/core_model.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/replay_code.h"
#include "uarch/replay/simulation_work.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {

class ThreadReplay;

/// What a core has beside its part of the memory system.
struct ReplayCore {
  ReplayCore(const CoreModel& model, unsigned which, std::size_t room)
      : number(which), branches(model.branch), clock(model.timing), code_bytes(room) {}
  /// filter  of the core; core: of the clock
  ReplayCode& code_for(MemorySystem::Filter& filter, const TimingParameters& core) {
    if (code == nullptr) code = std::make_unique<ReplayCode>(filter, branches, clock, core, code_bytes);
    return *code;
  }
  SimulationWork work_so_far() const {
    SimulationWork all = work;
    if (code != nullptr) all.code_resets = code->resets();
    return all;
  }
  unsigned number;
  BranchUnit branches;
  CoreClock clock;
  std::size_t code_bytes;            // what `code` may have
  std::unique_ptr<ReplayCode> code;  // null until it is wanted
  ThreadReplay* owner = nullptr;     // whose run came last
  std::uint64_t idle_until = 0;      // no block begins before that cycle
  SimulationWork work;               // but for code_resets
};

}  // namespace zs::uarch
