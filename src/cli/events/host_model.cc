#include "cli/events/host_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "cli/command/words.h"

namespace zs::cli {
namespace {

/// Intel's processors of family 6 that have no CPU model of their own, and the one of the microarchitecture that is
/// most like theirs. source: SDM vol. 4, table "CPUID Signature Values of DisplayFamily_DisplayModel".
struct Likeness {
  std::string_view model;
  std::array<std::uint32_t, 16> numbers;  // 0: no more
};
constexpr Likeness kLikenesses[] = {
    {"core2", {0x0F, 0x16, 0x17, 0x1D}},
    {"nehalem", {0x1A, 0x1E, 0x1F, 0x2E}},
    {"westmere", {0x25, 0x2C, 0x2F}},
    {"ivybridge", {0x2A, 0x2D, 0x3A, 0x3E}},
    {"haswell", {0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56}},
    {"skylake-client", {0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6, 0x66}},
    {"skylake-server", {0x55}},
    {"icelake-server", {0x6A, 0x6C, 0x7D, 0x7E, 0xA7, 0x8C, 0x8D}},
    {"goldmont", {0x5C, 0x5F, 0x7A, 0x86, 0x96, 0x9C, 0x37, 0x4A, 0x4C, 0x4D, 0x5A, 0x5D, 0x57, 0x85, 0xBE, 0xAF}},
};
/// For processors that are newer than these.
constexpr std::string_view kNewestOfIntel = "sapphire-rapids", kNewestOfAmd = "zen4";

std::string_view most_like(const host::CpuidFacts& cpuid) {
  constexpr std::uint32_t kZen = 0x17, kCore = 6;
  if (cpuid.vendor == "AuthenticAMD") return cpuid.family >= kZen ? kNewestOfAmd : std::string_view();
  if (cpuid.vendor != "GenuineIntel" || cpuid.family < kCore || cpuid.family == 0xF) return {};
  for (const Likeness& row : kLikenesses) {
    const bool named = std::find(row.numbers.begin(), row.numbers.end(), cpuid.model) != row.numbers.end();
    if (cpuid.family == kCore && cpuid.model != 0 && named) return row.model;
  }
  return kNewestOfIntel;
}

}  // namespace

Result<HostModel> model_of_host(const host::CpuidFacts& cpuid, std::string_view option) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    const arch::Identity identity = arch::identity(model);
    if (cpuid.vendor == arch::vendor_name(model) && identity.family == cpuid.family && identity.model == cpuid.model) {
      return HostModel{.model = arch::find_cpu_model(model.name.substr(0, model.name.find('@'))), .remark = ""};
    }
  }
  const std::string none =
      fmt::format("{} host: there is no CPU model of this machine's processor ({} family {:X}H model {:X}H)", option,
                  cpuid.vendor, cpuid.family, cpuid.model);
  if (const std::string_view name = most_like(cpuid); !name.empty()) {
    const arch::CpuModel* const nearest = arch::find_cpu_model(name);
    return HostModel{.model = nearest, .remark = fmt::format("{}: the nearest is taken, {}", none, nearest->name)};
  }
  return Error{none, known_models()};
}

std::string known_models() {
  std::vector<std::string> names;
  for (const arch::CpuModel& model : arch::cpu_models()) names.emplace_back(model.name);
  return "models: " + joined(names, ", ");
}

}  // namespace zs::cli
