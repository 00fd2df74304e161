#include "host/memory_accesses.h"

#include <fmt/format.h>

#include <system_error>

namespace zs::host {
namespace {

constexpr const char* kIbs = "ibs_op";

bool is_there(const std::filesystem::path& path) {
  std::error_code problem;
  return std::filesystem::exists(path, problem);
}

Result<std::vector<std::string>> ops(const MemoryAccesses& wanted) {
  if (!wanted.loads || !wanted.stores)
    return Error{"ibs_op//: this processor samples ops, loads and stores alike", "leave -t out"};
  if (wanted.threshold_said)
    return Error{"ibs_op//: this processor samples ops whatever their latency", "leave --ldlat out"};
  return std::vector{fmt::format("{}//", kIbs)};
}

/// What one PMU has of it.
void add_events_of(const std::string& pmu, const MemoryAccesses& wanted, const std::filesystem::path& events,
                   std::vector<std::string>& lists) {
  if (wanted.loads && is_there(events / "mem-loads")) {
    const std::string loads = fmt::format("{}/mem-loads,ldlat={}/P", pmu, wanted.latency_threshold);
    lists.push_back(is_there(events / "mem-loads-aux") ? fmt::format("{{{}/mem-loads-aux/P,{}}}", pmu, loads) : loads);
  }
  if (wanted.stores && is_there(events / "mem-stores")) lists.push_back(fmt::format("{}/mem-stores/P", pmu));
}

}  // namespace

Result<std::vector<std::string>> memory_access_events(const MemoryAccesses& wanted, const std::filesystem::path& pmus) {
  if (is_there(pmus / kIbs)) return ops(wanted);
  std::vector<std::string> lists;
  for (const char* const pmu : {"cpu", "cpu_core", "cpu_atom"}) {
    add_events_of(pmu, wanted, pmus / pmu / "events", lists);
  }
  if (!lists.empty()) return lists;
  const char* const missing = !wanted.stores ? "mem-loads" : !wanted.loads ? "mem-stores" : "mem-loads, mem-stores";
  return Error{fmt::format("{}: no PMU of this machine has such events, nor is there an {}", missing, kIbs),
               "`zeroskid doctor` says why; --pmu=sw samples those of a program that it starts"};
}

}  // namespace zs::host
