// source: perf-list(1) of Linux 6.1; what each means on Skylake server: that kernel's generic and cache event tables
// for Intel processors (L1D and dTLB accesses are MEM_INST_RETIRED, BPU accesses are BR_INST_RETIRED).
#include "session/events/perf_names.h"

#include <algorithm>
#include <array>

#include "arch/events/event.h"

namespace zs::session {
namespace {

constexpr PerfName counts(std::string_view name, std::string_view aliases, std::string_view row,
                          std::string_view description) {
  return {name, aliases, row, EventKind::Hardware, "", description};
}
constexpr PerfName kernel_counts(std::string_view name, std::string_view aliases, EventKind kind,
                                 std::string_view description) {
  return {name, aliases, "", kind, "", description};
}
constexpr PerfName needs(std::string_view what, std::string_view name, std::string_view aliases = "") {
  return {name, aliases, "", EventKind::Hardware, what, ""};
}

// clang-format off
constexpr std::array kNames{
    counts("instructions",        "",                    "inst_retired.any",             "instructions retired; :ppp is INST_RETIRED.PREC_DIST"),
    counts("branch-instructions", "branches branch-loads", "br_inst_retired.all_branches", "branch instructions retired"),
    counts("L1-dcache-loads",     "dTLB-loads",          "mem_inst_retired.all_loads",   "loads retired"),
    counts("L1-dcache-stores",    "dTLB-stores mem-stores", "mem_inst_retired.all_stores", "stores retired"),

    kernel_counts("task-clock",       "",       EventKind::TaskClock,       "CPU time of the thread, nanoseconds"),
    kernel_counts("cpu-clock",        "",       EventKind::TaskClock,        "CPU time of the thread, nanoseconds"),
    kernel_counts("page-faults",      "faults", EventKind::PageFaults,      "page faults"),
    kernel_counts("minor-faults",     "page-faults-min", EventKind::MinorFaults, "page faults served without input"),
    kernel_counts("major-faults",     "page-faults-maj", EventKind::MajorFaults, "page faults that waited for input"),
    kernel_counts("context-switches", "cs",     EventKind::ContextSwitches, "times the thread left its CPU"),

    needs("cycles", "cpu-cycles", "cycles"),
    needs("cycles", "ref-cycles"),
    needs("cycles", "bus-cycles"),
    needs("cycles", "stalled-cycles-frontend", "idle-cycles-frontend"),
    needs("cycles", "stalled-cycles-backend", "idle-cycles-backend"),
    needs("cycles", "slots"),
    needs("branch predictor", "branch-misses", "branch-load-misses"),
    needs("caches", "cache-references"),
    needs("caches", "cache-misses"),
    needs("caches", "L1-dcache-load-misses"),
    needs("caches", "L1-dcache-store-misses"),
    needs("caches", "L1-dcache-prefetches"),
    needs("caches", "L1-dcache-prefetch-misses"),
    needs("caches", "L1-icache-loads"),
    needs("caches", "L1-icache-load-misses"),
    needs("caches", "LLC-loads"),
    needs("caches", "LLC-load-misses"),
    needs("caches", "LLC-stores"),
    needs("caches", "LLC-store-misses"),
    needs("caches", "LLC-prefetches"),
    needs("caches", "LLC-prefetch-misses"),
    needs("caches", "node-loads"),
    needs("caches", "node-load-misses"),
    needs("caches", "node-stores"),
    needs("caches", "node-store-misses"),
    needs("caches", "mem-loads"),
    needs("TLBs", "dTLB-load-misses"),
    needs("TLBs", "dTLB-store-misses"),
    needs("TLBs", "iTLB-loads"),
    needs("TLBs", "iTLB-load-misses"),

    needs("kernel", "cpu-migrations", "migrations"),
    needs("kernel", "alignment-faults"),
    needs("kernel", "emulation-faults"),
    needs("kernel", "cgroup-switches"),
    needs("kernel", "bpf-output"),
    needs("kernel", "dummy"),
};
// clang-format on

bool lists(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (arch::equal_case_blind(words.substr(0, end), name)) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::span<const PerfName> perf_names() { return kNames; }

const PerfName* find_perf_name(std::string_view name) {
  for (const PerfName& row : kNames) {
    if (arch::equal_case_blind(row.name, name) || lists(row.aliases, name)) return &row;
  }
  return nullptr;
}

}  // namespace zs::session
