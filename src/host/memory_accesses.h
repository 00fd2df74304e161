// Which of the processor's events sample loads and stores with their addresses, as far as its PMU describes them: the
// events that perf mem and perf c2c open.
// source: Linux 6.1, tools/perf/arch/x86/util/mem-events.c (names and modifiers); what is there, sysfs says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/kernel_events.h"

namespace zs::host {

struct MemoryAccesses {
  bool loads = true, stores = true;
  std::uint64_t latency_threshold = 30;  // of loads, core cycles
  bool threshold_said = false;           // by the user
};

/// returns lists for parse_kernel_events(), of each PMU there is (a hybrid processor has two): loads, from Alder Lake
/// and Sapphire Rapids on in a group with the event that the processor needs beside them, and stores; or, of AMD, ops.
/// An Error names the event that is not there.
Result<std::vector<std::string>> memory_access_events(const MemoryAccesses& wanted,
                                                      const std::filesystem::path& pmus = kPmuFolder);

}  // namespace zs::host
