#include "cli/mem/memory_events.h"

#include "arch/ibs.h"
#include "arch/records/pebs.h"
#include "host/memory_accesses.h"

namespace zs::cli {
namespace {

/// Every so many ops, not cycles: those would meet the op behind one that waits, and not what it waits for.
Result<std::vector<std::string>> memory_ops(const std::string& cpu, bool all, std::uint64_t threshold) {
  if (!all)
    return Error{cpu + " samples ops, loads and stores alike",
                 "leave -t out, or take --model " + std::string(arch::kDefaultCpuModel)};
  if (threshold != kUsualLatencyThreshold) {
    return Error{cpu + " samples ops whatever their latency: it has no threshold",
                 "leave --ldlat out; -e ibs_op/cnt_ctl=1,l3missonly=1/ samples what comes from beyond L3"};
  }
  return std::vector<std::string>{"ibs_op/cnt_ctl=1/"};
}

}  // namespace

Result<AccessTypes> access_types(const std::string& types) {
  const bool both = types == "load,store" || types == "store,load";
  const AccessTypes named{.loads = both || types == "load", .stores = both || types == "store"};
  if (!named.loads && !named.stores)
    return Error{"-t " + types + ": no such type of access", "load, store, or load,store"};
  return named;
}

Result<std::vector<std::string>> memory_events(const std::string& types, std::uint64_t threshold,
                                               const arch::CpuModel& model) {
  const auto named = access_types(types);
  if (!named) return named.error();
  const auto [loads, stores] = *named;
  const std::string cpu(model.name);
  if (arch::has_ibs(model)) return memory_ops(cpu, loads && stores, threshold);
  if (!model.has_pebs()) {
    return Error{cpu + " has no PEBS, so nothing samples loads and stores with their addresses",
                 "take --model " + std::string(arch::kDefaultCpuModel)};
  }
  if (!model.load_latency) {
    return Error{cpu + " cannot sample accesses by latency: it has no load-latency facility", "take another CPU model"};
  }
  // Before Sandy Bridge no event samples stores with their addresses.
  const bool has_stores = arch::traits(model.pebs_format()).has_plain_addresses || model.precise_store;
  if (stores && !loads && !has_stores) {
    return Error{cpu + " has no event that samples stores with their addresses", "-t load, or take another CPU model"};
  }
  std::vector<std::string> events;
  if (loads) events.push_back("cpu/mem-loads,ldlat=" + std::to_string(threshold) + "/P");
  if (stores && has_stores) events.emplace_back("cpu/mem-stores/P");
  return events;
}

Result<std::vector<std::string>> processors_memory_events(const std::string& types, std::uint64_t threshold) {
  const auto named = access_types(types);
  if (!named) return named.error();
  return host::memory_access_events({.loads = named->loads,
                                     .stores = named->stores,
                                     .latency_threshold = threshold,
                                     .threshold_said = threshold != kUsualLatencyThreshold});
}

}  // namespace zs::cli
