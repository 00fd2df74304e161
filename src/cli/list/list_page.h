// What `zeroskid list` prints: the events of a CPU model with what their numbers are worth, and select words decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/events/event.h"
#include "cli/events/pfm_names.h"

namespace zs::cli {

enum class ListedClass { Exact, Modelled, Software, NotModelled };
const char* name_of(ListedClass kind);  // "exact" "modelled" "software" "not modelled"

struct ListedEvent {
  std::string name;
  std::vector<std::string> aliases;
  ListedClass kind = ListedClass::NotModelled;
  std::string_view needs;               // NotModelled: the part of the core that no model has
  std::string_view error;               // Modelled: how far off it was measured to be
  std::string measured_here;            // and by `calibrate`, on this machine; "": it was not
  std::optional<std::uint64_t> config;  // none for what the kernel counts
  arch::CounterSet counters;
  std::optional<arch::Precise> precise;  // none for what the kernel counts, and for libpfm4's
  bool data_address = false;
  bool extension = false;  // not an event of the real processor
  std::string description;
};

/// perf's names, the kernel's, the model's table by name, and libpfm4's for what the table lacks.
std::vector<ListedEvent> list_events(const arch::CpuModel& cpu, const PfmNames& pfm);

/// Those whose name or alias one of `globs` matches, case-blind; if there are none, those that contain one of them.
std::vector<ListedEvent> matching(const std::vector<ListedEvent>& events, const std::vector<std::string>& globs);

/// One line an event. verbose: aliases and the missing part too.
std::string list_page(const arch::CpuModel& cpu, const std::vector<ListedEvent>& events, bool verbose);

/// One JSON object (docs/formats/list-json.md), indented, with a newline at the end.
std::string list_json(const arch::CpuModel& cpu, const std::vector<ListedEvent>& events);

/// "0-7 fixed0"
std::string counter_names(arch::CounterSet counters);

/// Every field of an IA32_PERFEVTSELx word by name, and what it counts, or why it does not.
/// word  as typed: 0x and hexadecimal digits
std::string select_page(std::string_view word, const arch::CpuModel& cpu);
std::string select_json(std::string_view word, const arch::CpuModel& cpu);

}  // namespace zs::cli
