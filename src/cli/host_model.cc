#include "cli/host_model.h"

#include <fmt/format.h>

#include <string>

namespace zs::cli {
namespace {

/// source: SDM vol. 2A, "CPUID", figure "Version Information Returned by CPUID in EAX"; of family 06H, the only one here.
constexpr std::uint32_t family_of(std::uint32_t signature) { return signature >> 8 & 0xF; }
constexpr std::uint32_t model_of(std::uint32_t signature) { return (signature >> 4 & 0xF) | (signature >> 12 & 0xF0); }

}  // namespace

Result<const arch::CpuModel*> model_of_host(const host::CpuidFacts& cpuid, std::string_view option) {
  if (cpuid.vendor == "GenuineIntel") {
    for (const arch::CpuModel& model : arch::cpu_models()) {
      if (family_of(model.signature) == cpuid.family && model_of(model.signature) == cpuid.model) {
        return arch::find_cpu_model(model.name.substr(0, model.name.find('@')));
      }
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
