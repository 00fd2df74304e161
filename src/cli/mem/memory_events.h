// What `mem record` and `c2c record` sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "base/result.h"

namespace zs::cli {

inline constexpr std::uint64_t kUsualLatencyThreshold = 30;  // perf's, core cycles

/// What -t names.
struct AccessTypes {
  bool loads = false, stores = false;
};
Result<AccessTypes> access_types(const std::string& types);

/// types      "load", "store", "load,store"
/// threshold  --ldlat
/// returns the events, as far as this processor can sample such accesses: PEBS of loads and stores, or where there is
/// instruction-based sampling all ops, of which loads and stores tell where their data was
Result<std::vector<std::string>> memory_events(const std::string& types, std::uint64_t threshold,
                                               const arch::CpuModel& model);

/// The same of this machine's own processor, by the names that perf_event_open's events have.
Result<std::vector<std::string>> processors_memory_events(const std::string& types, std::uint64_t threshold);

}  // namespace zs::cli
