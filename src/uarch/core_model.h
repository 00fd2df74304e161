// A processor's core as `uarch` plays it: its caches, TLBs, prefetchers and latencies, its predictors, and its time.
// Rows have the names of arch's CPU models, so `--model skylake-server` chooses both; what the PMU shows stands there,
// what happens inside stands here.
// A row is fixed and versioned like those: a number that changes makes a new version.
#pragma once

#include <span>
#include <string_view>

#include "uarch/branch/branch_parameters.h"
#include "uarch/memory_parameters.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

struct CoreModel {
  std::string_view name;         // NAME@VERSION
  std::string_view description;  // for people
  MemoryParameters memory;
  BranchParameters branch;
  TimingParameters timing;
};

/// What timing needs of the memory side.
constexpr MemoryLimits memory_limits(const MemoryParameters& memory) {
  return {.load_cycles = memory.l1d.load_to_use_cycles};
}

/// What keeps a row from being a core; null if nothing does.
constexpr const char* inconsistency(const CoreModel& model) {
  if (const char* const memory = inconsistency(model.memory)) return memory;
  if (const char* const branch = inconsistency(model.branch)) return branch;
  return inconsistency(model.timing);
}

/// Every row, sorted by name.
std::span<const CoreModel> core_models();

/// "skylake-server@1", or "skylake-server" for its newest version; null if there is none.
const CoreModel* find_core_model(std::string_view name);

}  // namespace zs::uarch
