// The list of modelled cores. A new row is a file in cpus/ and a line here.
#include "uarch/core_model.h"

#include <algorithm>

#include "uarch/cpus/haswell.h"
#include "uarch/cpus/icelake_server.h"
#include "uarch/cpus/sapphire_rapids.h"
#include "uarch/cpus/skylake_server.h"
#include "uarch/cpus/westmere.h"
#include "uarch/cpus/zen4.h"

namespace zs::uarch {

namespace {

constexpr CoreModel kModels[] = {
    kHaswell1, kIcelakeServer1, kSapphireRapids1, kSkylakeServer1, kWestmere1, kZen4V1,
};
static_assert(std::ranges::is_sorted(kModels, {}, &CoreModel::name));
static_assert(std::ranges::all_of(kModels, [](const CoreModel& m) { return inconsistency(m) == nullptr; }));

}  // namespace

std::span<const CoreModel> core_models() { return kModels; }

const CoreModel* find_core_model(std::string_view name) {
  // One version of each so far, so the newest is the only one.
  const auto row = std::ranges::find_if(kModels, [name](const CoreModel& model) {
    return model.name == name || model.name.substr(0, model.name.find('@')) == name;
  });
  return row == std::end(kModels) ? nullptr : row;
}

}  // namespace zs::uarch
