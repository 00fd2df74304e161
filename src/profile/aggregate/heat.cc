#include "profile/aggregate/heat.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace zs::profile {
namespace {

/// Whether a person who asks for `wanted` means `symbol`: its name, its linkage name, or its name without the enclosing
/// namespaces ("Side::best" for "(anonymous namespace)::Side::best").
bool is_meant(const Symbol& symbol, std::string_view wanted) {
  const std::string_view name = symbol.name();
  if (wanted == name || wanted == symbol.linkage_name) return true;
  return name.size() > wanted.size() + 2 && name.ends_with(wanted) &&
         name.substr(name.size() - wanted.size() - 2, 2) == "::";
}

}  // namespace

Heat heat_of(const session::Sample& sample, std::uint64_t weight) {
  Heat one{
      .samples = 1, .weight = weight, .latency = static_cast<double>(sample.latency) * static_cast<double>(weight)};
  if (const auto kind = source_kind(sample.data_source)) one.sources[static_cast<std::size_t>(*kind)] = weight;
  return one;
}

void Heat::add(const Heat& more) {
  samples += more.samples;
  weight += more.weight;
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] += more.sources[i];
  latency += more.latency;
}

std::vector<FunctionHeat> function_heats(const PerfDataReader& reader, Symbolizer& symbolizer,
                                         const HeatOptions& options, std::uint64_t& outside) {
  outside = 0;
  symbolizer.expect(reader);
  AddressSpaces spaces;
  const bool profile = is_exact_profile(reader.description());
  std::map<std::pair<std::uint32_t, const Symbol*>, FunctionHeat> heats;
  for_each_sample(reader, spaces, [&](const SampleRecord& taken) {
    const session::Sample& sample = taken.sample;
    if (profile && sample.event == session::kRanInContexts) return;  // the same once more
    const Location at = symbolizer.locate(spaces, sample.pid, sample.ip, taken.cpumode);
    if (at.symbol == nullptr) {
      ++outside;
      return;
    }
    if (!options.dso.empty() && options.dso != at.dso->path && options.dso != at.dso->short_name) return;
    if (!options.symbol.empty() && !is_meant(*at.symbol, options.symbol)) return;
    const bool branch = profile && sample.event == session::kRanBranches;
    const std::uint32_t event = branch ? session::kRanInstructions : sample.event;
    FunctionHeat& heat = heats[{event, at.symbol}];
    heat.event = &reader.events()[event];
    heat.event_index = event;
    heat.dso = at.dso;
    heat.symbol = at.symbol;
    if (branch) {
      heat.taken[at.image_address] += sample.period;
      return;
    }
    const Heat one = heat_of(sample, sample.period);
    heat.whole.add(one);
    heat.instructions[at.image_address].add(one);
  });

  std::vector<FunctionHeat> sorted;
  sorted.reserve(heats.size());
  for (auto& [key, heat] : heats) sorted.push_back(std::move(heat));
  std::sort(sorted.begin(), sorted.end(), [](const FunctionHeat& a, const FunctionHeat& b) {
    if (a.event_index != b.event_index) return a.event_index < b.event_index;
    if (a.whole.weight != b.whole.weight) return a.whole.weight > b.whole.weight;
    return std::tuple(a.dso->number, a.symbol->start) < std::tuple(b.dso->number, b.symbol->start);
  });
  return sorted;
}

}  // namespace zs::profile
