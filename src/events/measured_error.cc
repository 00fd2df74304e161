#include "events/measured_error.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "arch/events/event.h"

namespace zs::session {
namespace {

struct Measured {
  std::string_view name, error;
};

constexpr Measured kMeasured[] = {
#include "events/measured_errors.inc"
};

// Tags of loads, which no loop counts.
constexpr std::array<std::string_view, 2> kLatencies{"mem_trans_retired.load_latency", "mem_inst_retired.latency"};

bool is_latency(std::string_view event) {
  return std::ranges::any_of(kLatencies, [event](std::string_view prefix) {
    return arch::equal_case_blind(event.substr(0, prefix.size()), prefix);
  });
}

}  // namespace

std::string_view measured_error(std::string_view event) {
  const auto* const row = std::ranges::find_if(
      kMeasured, [event](const Measured& known) { return arch::equal_case_blind(known.name, event); });
  if (row != std::end(kMeasured)) return row->error;
  if (is_latency(event)) return "latencies within 7 % on pointer chases";
  return "no public figure found";
}

}  // namespace zs::session
