#include "profile/aggregate/type_heat.h"

#include <algorithm>
#include <utility>

namespace zs::profile {
namespace {

AccessHeat access_of(const session::Sample& sample) {
  AccessHeat one;
  (is_store(sample.data_source) ? one.stores : one.loads) = heat_of(sample, std::max<std::uint64_t>(sample.period, 1));
  return one;
}

}  // namespace

void AccessHeat::add(const AccessHeat& more) {
  loads.add(more.loads);
  stores.add(more.stores);
}

TypeHeats TypeHeatReader::read(const PerfDataReader& reader) {
  symbolizer_.expect(reader);
  types_.learn(reader);
  TypeHeats all;
  AccessHeat whole;
  DataObjects objects(spaces_, symbolizer_);
  std::map<std::pair<std::string, std::uint64_t>, TypeHeat> heats;  // by name and size: images may share a type
  for_each_sample(reader, spaces_, [&](const SampleRecord& taken) {
    const session::Sample& sample = taken.sample;
    if (sample.address == 0) return;
    objects.learn(sample);
    const AccessHeat one = access_of(sample);
    whole.add(one);
    ++all.samples;
    const AccessType access = types_.of(spaces_, objects, sample);
    if (access.kind == AccessType::Kind::StackOperation) ++all.stack;
    if (access.kind != AccessType::Kind::Known) return;
    ++all.known;
    if (!access.types->is_struct(access.type)) return;
    std::string name = access.type_text();
    TypeHeat& heat = heats[{name, access.types->size_of(access.type)}];
    if (heat.types == nullptr) {
      heat.name = std::move(name);
      heat.types = access.types;
      heat.type = access.type;
      heat.image = base_name(access.types->image().path());
    }
    heat.whole.add(one);
    heat.bytes[access.offset].add(one);
    const Location at = symbolizer_.locate(spaces_, sample.pid, sample.ip, taken.cpumode);
    const Visits::Function function{at.dso != nullptr ? at.dso->number : 0,
                                    at.symbol != nullptr ? value(at.symbol->start) : 0};
    heat.visits.add(function, sample.address - access.offset, access.offset,
                    {.loads = one.loads.weight, .stores = one.stores.weight});
  });
  const double load_scale = whole.loads.weight == 0
                                ? 1
                                : std::max(1.0, kLoadsPerStore * static_cast<double>(whole.stores.weight) /
                                                    static_cast<double>(whole.loads.weight));
  for (auto& [key, heat] : heats) {
    heat.visits.load_scale = load_scale;
    all.types.push_back(std::move(heat));
  }
  std::ranges::stable_sort(all.types, [](const TypeHeat& a, const TypeHeat& b) {
    return std::pair(a.whole.loads.latency, a.whole.samples()) > std::pair(b.whole.loads.latency, b.whole.samples());
  });
  return all;
}

}  // namespace zs::profile
