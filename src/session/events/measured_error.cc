#include "session/events/measured_error.h"

#include <array>

#include "arch/events/event.h"

namespace zs::session {
namespace {

struct Measured {
  std::string_view prefix, error;
};

// The longest matching prefix decides.
constexpr std::array kMeasured{
    Measured{"br_misp_retired", "within 1 % on random decisions"},
    Measured{"ex_ret_brn_misp", "within 1 % on random decisions"},
    Measured{"branch-misses", "within 1 % on random decisions"},
    Measured{"mem_trans_retired.load_latency", "latencies within 7 % on pointer chases"},
    Measured{"mem_inst_retired.latency", "latencies within 7 % on pointer chases"},
    Measured{"ls_not_halted", "within 7 % on pointer chases"},
    Measured{"cpu_clk_unhalted", "within 3 % on two published loops of arithmetic"},
};

}  // namespace

std::string_view measured_error(std::string_view event) {
  std::string_view error = "error not measured";
  std::size_t longest = 0;
  for (const Measured& row : kMeasured) {
    if (row.prefix.size() <= longest || event.size() < row.prefix.size()) continue;
    if (!arch::equal_case_blind(event.substr(0, row.prefix.size()), row.prefix)) continue;
    error = row.error;
    longest = row.prefix.size();
  }
  return error;
}

}  // namespace zs::session
