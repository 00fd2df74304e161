#include "cli/stat/perf_rates.h"

namespace zs::cli {
namespace {

constexpr std::string_view kShare = "%";

// clang-format off
constexpr arch::Metric kRates[] = {
    // name, groups, unit, formula, what it is
    {"insn per cycle", "", "per cycle", "instructions / cycles", ""},
    {"stalled cycles per insn", "", "per instruction",
     "max(stalled-cycles-frontend, stalled-cycles-backend) / instructions", ""},
    {"frontend cycles idle",      "", kShare, "stalled-cycles-frontend / cycles", ""},
    {"backend cycles idle",       "", kShare, "stalled-cycles-backend / cycles", ""},
    {"of all branches",           "", kShare, "branch-misses / branches", ""},
    {"of all cache refs",         "", kShare, "cache-misses / cache-references", ""},
    {"of all L1-dcache accesses", "", kShare, "L1-dcache-load-misses / L1-dcache-loads", ""},
    {"of all L1-icache accesses", "", kShare, "L1-icache-load-misses / L1-icache-loads", ""},
    {"of all dTLB cache accesses", "", kShare, "dTLB-load-misses / dTLB-loads", ""},
    {"of all iTLB cache accesses", "", kShare, "iTLB-load-misses / iTLB-loads", ""},
    {"of all LL-cache accesses",  "", kShare, "LLC-load-misses / LLC-loads", ""},
};
// clang-format on

constexpr bool all_are_formulas() {
  for (const arch::Metric& rate : kRates) {
    if (!is_formula(rate.formula)) return false;
  }
  return true;
}
static_assert(all_are_formulas());

}  // namespace

std::span<const arch::Metric> perf_rates() { return kRates; }

}  // namespace zs::cli
