#include "cli/events/pfm_names.h"

#include <perfmon/pfmlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "arch/msrs.h"
#include "base/items.h"

namespace zs::cli {
namespace {

using arch::PerfEvtSel;

/// What of a select register is part of an event.
std::uint64_t config_bits(const arch::CpuModel& cpu) {
  const std::uint64_t any = cpu.vendor == arch::Vendor::Intel ? PerfEvtSel::any.mask : 0;
  return cpu.code_bits() | PerfEvtSel::edge.mask | any | PerfEvtSel::invert.mask | PerfEvtSel::cmask.mask;
}

struct Processor {
  std::string_view model;  // how the CPU model's name begins
  pfm_pmu_t pmu;
  const char* prefix;
};
constexpr std::array kProcessors{
    Processor{"core2@", PFM_PMU_INTEL_CORE, "core::"},
    Processor{"goldmont@", PFM_PMU_INTEL_GLM, "glm::"},
    Processor{"haswell@", PFM_PMU_INTEL_HSW, "hsw::"},
    Processor{"ivybridge@", PFM_PMU_INTEL_IVB, "ivb::"},
    Processor{"icelake-server@", PFM_PMU_INTEL_ICX, "icx::"},
    Processor{"nehalem@", PFM_PMU_INTEL_NHM, "nhm::"},
    Processor{"sapphire-rapids@", PFM_PMU_INTEL_SPR, "spr::"},
    Processor{"skylake-client@", PFM_PMU_INTEL_SKL, "skl::"},
    Processor{"skylake-server@", PFM_PMU_INTEL_SKX, "skx::"},
    Processor{"westmere@", PFM_PMU_INTEL_WSM, "wsm::"},
    Processor{"zen4@", PFM_PMU_AMD64_FAM19H_ZEN4, "amd64_fam19h_zen4::"},
};

const Processor* processor_of(const arch::CpuModel& cpu) {
  const auto* found = std::find_if(kProcessors.begin(), kProcessors.end(), [&](const Processor& row) {
    return cpu.name.substr(0, row.model.size()) == row.model;
  });
  return found == kProcessors.end() ? nullptr : found;
}

/// What libpfm4 would take as an attribute is a modifier, and the parser's.
bool is_attribute(std::string_view segment) {
  constexpr std::array<std::string_view, 12> kAttributes{"u", "k", "h",    "e",      "i",     "c",
                                                         "t", "p", "intx", "intxcp", "ldlat", "precise"};
  return std::any_of(kAttributes.begin(), kAttributes.end(),
                     [&](std::string_view name) { return arch::equal_case_blind(name, segment); });
}

std::optional<std::uint64_t> encoded(const arch::CpuModel& cpu, const std::string& spelling) {
  std::uint64_t* codes = nullptr;
  int count = 0;
  if (pfm_get_event_encoding(spelling.c_str(), PFM_PLM3, nullptr, nullptr, &codes, &count) != PFM_SUCCESS)
    return std::nullopt;
  const std::optional<std::uint64_t> config = count > 0 ? std::optional(codes[0] & config_bits(cpu)) : std::nullopt;
  std::free(codes);
  return config;
}

}  // namespace

bool PfmNames::start() const {
  if (asked_) return started_;
  asked_ = true;
  // libpfm4 encodes events of another processor than this one only if told so in the environment.
  constexpr const char* kSwitch = "LIBPFM_ENCODE_INACTIVE";
  const bool was_set = std::getenv(kSwitch) != nullptr;
  if (!was_set) setenv(kSwitch, "1", 0);
  started_ = pfm_initialize() == PFM_SUCCESS;
  if (!was_set) unsetenv(kSwitch);
  return started_;
}

PfmNames::~PfmNames() {
  if (started_) pfm_terminate();
}

std::optional<std::uint64_t> PfmNames::config_of(const arch::CpuModel& cpu, std::string_view name) const {
  const Processor* processor = processor_of(cpu);
  if (processor == nullptr || !start()) return std::nullopt;
  for (const std::string_view part : pieces_of(name, ':')) {
    if (part.data() != name.data() && is_attribute(part)) return std::nullopt;
  }
  return encoded(cpu, processor->prefix + std::string(name));
}

std::vector<PfmEvent> PfmNames::events(const arch::CpuModel& cpu) const {
  std::vector<PfmEvent> events;
  const Processor* processor = processor_of(cpu);
  pfm_pmu_info_t pmu{};
  pmu.size = sizeof pmu;
  if (processor == nullptr || !start() || pfm_get_pmu_info(processor->pmu, &pmu) != PFM_SUCCESS) return events;
  for (int index = pmu.first_event; index != -1; index = pfm_get_event_next(index)) {
    pfm_event_info_t event{};
    event.size = sizeof event;
    if (pfm_get_event_info(index, PFM_OS_NONE, &event) != PFM_SUCCESS) continue;
    bool has_umasks = false;
    for (int i = 0; i < event.nattrs; ++i) {
      pfm_event_attr_info_t attribute{};
      attribute.size = sizeof attribute;
      if (pfm_get_event_attr_info(index, i, PFM_OS_NONE, &attribute) != PFM_SUCCESS) continue;
      if (attribute.type != PFM_ATTR_UMASK) continue;
      has_umasks = true;
      const auto config = encoded(cpu, std::string(processor->prefix) + event.name + ":" + attribute.name);
      if (!config) continue;
      events.push_back({std::string(event.name) + "." + attribute.name, *config,
                        attribute.desc != nullptr ? attribute.desc : event.desc});
    }
    if (has_umasks) continue;
    if (const auto config = encoded(cpu, std::string(processor->prefix) + event.name))
      events.push_back({event.name, *config, event.desc});
  }
  return events;
}

std::vector<std::string> PfmNames::all(const arch::CpuModel& cpu) const {
  std::vector<std::string> names;
  for (PfmEvent& event : events(cpu)) {
    for (char& c : event.name) c = arch::lower(c);  // as our own tables: nearest_names() ranks by spelling
    names.push_back(std::move(event.name));
  }
  return names;
}

Result<std::vector<session::EventGroup>> parse_events(std::string_view text, const arch::CpuModel& cpu, bool ring_0) {
  const PfmNames further;
  return session::parse_events(text, cpu, &further, ring_0);
}

}  // namespace zs::cli
