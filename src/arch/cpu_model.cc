// The list of CPU models. A new row is a file in cpus/ and a line here.
#include "arch/cpu_model.h"

#include <algorithm>

#include "arch/cpus/core2.h"
#include "arch/cpus/goldmont.h"
#include "arch/cpus/haswell.h"
#include "arch/cpus/icelake_server.h"
#include "arch/cpus/ivybridge.h"
#include "arch/cpus/nehalem.h"
#include "arch/cpus/sapphire_rapids.h"
#include "arch/cpus/skylake_client.h"
#include "arch/cpus/skylake_server.h"
#include "arch/cpus/westmere.h"
#include "arch/cpus/zen4.h"
#include "base/check.h"

namespace zs::arch {

namespace {

constexpr CpuModel kModels[] = {
    kCore2V1,         kGoldmont1,      kHaswell1,       kIcelakeServer1, kIvybridge1, kNehalem1,
    kSapphireRapids1, kSkylakeClient1, kSkylakeServer1, kWestmere1,      kZen41,
};
static_assert(std::ranges::is_sorted(kModels, {}, &CpuModel::name));

constexpr std::string_view without_version(std::string_view name) { return name.substr(0, name.find('@')); }

constexpr unsigned version(std::string_view name) {
  unsigned number = 0;
  for (const char digit : name.substr(name.find('@') + 1)) number = number * 10 + static_cast<unsigned>(digit - '0');
  return number;
}

}  // namespace

std::span<const CpuModel> cpu_models() { return kModels; }

const CpuModel* find_cpu_model(std::string_view name) {
  const CpuModel* newest = nullptr;
  for (const CpuModel& model : kModels) {
    if (model.name == name) return &model;
    if (without_version(model.name) == name && (newest == nullptr || version(newest->name) < version(model.name))) {
      newest = &model;
    }
  }
  return newest;
}

CpuModel with_quirks(CpuModel model, QuirkSet quirks) {
  model.quirks = quirks;
  if (quirks.has(Quirk::PebsFormat5) && model.pebs_baseline()) {
    model.capabilities = model.capabilities.with(PerfCapabilities::pebs_format, 5);
  }
  return model;
}

const CpuModel& default_cpu_model() {
  const CpuModel* model = find_cpu_model(kDefaultCpuModel);
  CHECK(model != nullptr);
  return *model;
}

}  // namespace zs::arch
