// Events that perf_event_open takes, by the names that perf has for them: the kernel's own (cpu-clock, page-faults),
// the processor's generic ones (cycles, LLC-load-misses), raw codes (r01c0), and what a PMU lists in sysfs
// (cpu/event=0xc0,umask=1/, intel_bts//, ibs_op//).
// source: perf_event_open(2); perf-list(1); Linux,
// Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zs::host {

struct KernelEvent {
  std::string name;           // as it was typed
  perf_event_attr attr{};     // which event, in which rings, how precise; nothing of sampling
  bool rings_said = false;    // u, k or h was typed
  bool most_precise = false;  // P: as precise as the processor can
  std::size_t leader = 0;     // index of the first event of its group; its own if it stands alone
};

/// Where PMUs describe themselves.
inline constexpr const char* kPmuFolder = "/sys/bus/event_source/devices";

/// list  "cpu-clock,{cycles:u,instructions:u},cpu/event=0x3c,umask=1/pp"
/// An Error names the word, and what is meant if something like it is known.
Result<std::vector<KernelEvent>> parse_kernel_events(std::string_view list,
                                                     const std::filesystem::path& pmus = kPmuFolder);

/// Whether the kernel itself counts it, whatever the processor can.
inline bool is_software(const KernelEvent& event) { return event.attr.type == PERF_TYPE_SOFTWARE; }

/// Names for lists: the kernel's own events, then the generic ones.
std::vector<std::string> kernel_event_names();

}  // namespace zs::host
