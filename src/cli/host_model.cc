#include "cli/host_model.h"

#include <fmt/format.h>

#include <string>

namespace zs::cli {
Result<const arch::CpuModel*> model_of_host(const host::CpuidFacts& cpuid, std::string_view option) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    const arch::Identity identity = arch::identity(model);
    if (cpuid.vendor == arch::vendor_name(model) && identity.family == cpuid.family && identity.model == cpuid.model) {
      return arch::find_cpu_model(model.name.substr(0, model.name.find('@')));
    }
  }
  std::string known;
  for (const arch::CpuModel& model : arch::cpu_models()) {
    known += (known.empty() ? "" : ", ") + std::string(model.name);
  }
  return Error{fmt::format("{} host: there is no CPU model of this machine's processor ({} family {:X}H model {:X}H)",
                           option, cpuid.vendor, cpuid.family, cpuid.model),
               "models: " + known};
}

}  // namespace zs::cli
