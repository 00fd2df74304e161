#include "arch/cpu_level.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "arch/this_processor.h"

namespace zs::arch {
namespace {

enum class FeatureWord : std::uint8_t { Ecx1, Edx1, Ebx7, Ecx81, Edx81 };

/// A bit of CPUID, the lowest level that has it, and its name in /proc/cpuinfo.
struct Feature {
  FeatureWord word;
  std::uint8_t bit;
  CpuLevel from;
  std::string_view name;
};

// clang-format off
constexpr Feature kFeatures[] = {
    {FeatureWord::Edx1, 0, CpuLevel::V1, "fpu"},       {FeatureWord::Edx1, 4, CpuLevel::V1, "tsc"},
    {FeatureWord::Edx1, 8, CpuLevel::V1, "cx8"},       {FeatureWord::Edx1, 15, CpuLevel::V1, "cmov"},
    {FeatureWord::Edx1, 19, CpuLevel::V1, "clflush"},  {FeatureWord::Edx1, 23, CpuLevel::V1, "mmx"},
    {FeatureWord::Edx1, 24, CpuLevel::V1, "fxsr"},     {FeatureWord::Edx1, 25, CpuLevel::V1, "sse"},
    {FeatureWord::Edx1, 26, CpuLevel::V1, "sse2"},     {FeatureWord::Edx81, 11, CpuLevel::V1, "syscall"},
    {FeatureWord::Edx81, 20, CpuLevel::V1, "nx"},      {FeatureWord::Edx81, 27, CpuLevel::V1, "rdtscp"},
    {FeatureWord::Edx81, 29, CpuLevel::V1, "lm"},      {FeatureWord::Ecx1, 0, CpuLevel::V2, "pni"},
    {FeatureWord::Ecx1, 9, CpuLevel::V2, "ssse3"},     {FeatureWord::Ecx1, 13, CpuLevel::V2, "cx16"},
    {FeatureWord::Ecx1, 19, CpuLevel::V2, "sse4_1"},   {FeatureWord::Ecx1, 20, CpuLevel::V2, "sse4_2"},
    {FeatureWord::Ecx1, 23, CpuLevel::V2, "popcnt"},   {FeatureWord::Ecx81, 0, CpuLevel::V2, "lahf_lm"},
    {FeatureWord::Ecx1, 12, CpuLevel::V3, "fma"},      {FeatureWord::Ecx1, 22, CpuLevel::V3, "movbe"},
    {FeatureWord::Ecx1, 26, CpuLevel::V3, "xsave"},    {FeatureWord::Ecx1, 27, CpuLevel::V3, "osxsave"},
    {FeatureWord::Ecx1, 28, CpuLevel::V3, "avx"},      {FeatureWord::Ecx1, 29, CpuLevel::V3, "f16c"},
    {FeatureWord::Ebx7, 3, CpuLevel::V3, "bmi1"},      {FeatureWord::Ebx7, 5, CpuLevel::V3, "avx2"},
    {FeatureWord::Ebx7, 8, CpuLevel::V3, "bmi2"},      {FeatureWord::Ecx81, 5, CpuLevel::V3, "abm"},
    {FeatureWord::Ebx7, 16, CpuLevel::V4, "avx512f"},  {FeatureWord::Ebx7, 17, CpuLevel::V4, "avx512dq"},
    {FeatureWord::Ebx7, 28, CpuLevel::V4, "avx512cd"}, {FeatureWord::Ebx7, 30, CpuLevel::V4, "avx512bw"},
    {FeatureWord::Ebx7, 31, CpuLevel::V4, "avx512vl"},
};
// clang-format on

std::uint32_t word_of(CpuLevel level, FeatureWord word) {
  std::uint32_t bits = 0;
  for (const Feature& feature : kFeatures) {
    if (feature.word == word && feature.from <= level) bits |= std::uint32_t{1} << feature.bit;
  }
  return bits;
}

/// What a level is called, and a processor of Intel's that has it: chosen, so that libraries which go by the model as
/// well decide alike.
struct LevelFact {
  std::string_view name;
  std::uint32_t signature = 0;
  std::uint32_t l2_kib = 0;  // 8 ways, or 16 of a MiB
};
constexpr std::array<LevelFact, 5> kLevels{{
    {"host"},
    {"x86-64", 0x6F6, 256},       // Merom
    {"x86-64-v2", 0x206C2, 256},  // Westmere
    {"x86-64-v3", 0x306F2, 256},  // Haswell
    {"x86-64-v4", 0x50654, 1024}  // Skylake
}};
const LevelFact& fact_of(CpuLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

constexpr std::uint32_t kLineBytes = 64, kL1Bytes = 32 << 10, kL3Bytes = 16 << 20;

std::string brand_of(CpuLevel level) { return std::string(fact_of(level).name) + " processor of zeroskid"; }

/// Leaf 4, "Deterministic Cache Parameters".
CpuidLeaf cache(std::uint32_t type, std::uint32_t number, std::uint32_t bytes, std::uint32_t ways, unsigned sharing,
                unsigned cpus) {
  return {.eax = type | number << 5 | 1U << 8 | (sharing - 1) << 14 | (cpus - 1) << 26,
          .ebx = (kLineBytes - 1) | (ways - 1) << 22,
          .ecx = bytes / kLineBytes / ways - 1};
}

CpuidLeaf cache_of(CpuLevel level, unsigned cpus, std::uint32_t number) {
  constexpr std::uint32_t kData = 1, kCode = 2, kBoth = 3;
  const std::uint32_t l2 = fact_of(level).l2_kib << 10;
  switch (number) {
    case 0: return cache(kData, 1, kL1Bytes, 8, 1, cpus);
    case 1: return cache(kCode, 1, kL1Bytes, 8, 1, cpus);
    case 2: return cache(kBoth, 2, l2, l2 == 1 << 20 ? 16 : 8, 1, cpus);
    case 3: return cache(kBoth, 3, kL3Bytes, 16, cpus, cpus);
    default: return {};
  }
}

/// Offset and bytes of the components that XCR0 has beside x87 and SSE. source: SDM vol. 1, "XSAVE-Managed State", on
/// processors with MPX
struct Component {
  std::uint8_t number;
  std::uint32_t bytes, offset;
};
constexpr Component kComponents[] = {{2, 256, 576}, {5, 64, 1088}, {6, 512, 1152}, {7, 1024, 1664}};

std::uint32_t state_bytes(CpuLevel level) {
  std::uint32_t bytes = 576;
  for (const Component& each : kComponents) {
    if ((xcr0_of(level) >> each.number & 1) != 0) bytes = each.offset + each.bytes;
  }
  return bytes;
}

CpuidLeaf state_of(CpuLevel level, std::uint32_t subleaf) {
  if (xcr0_of(level) == 0) return {};
  if (subleaf == 0)
    return {.eax = static_cast<std::uint32_t>(xcr0_of(level)), .ebx = state_bytes(level), .ecx = state_bytes(level)};
  for (const Component& each : kComponents) {
    if (each.number == subleaf && (xcr0_of(level) >> subleaf & 1) != 0) return {.eax = each.bytes, .ebx = each.offset};
  }
  return {};
}

}  // namespace

std::string_view name_of(CpuLevel level) { return fact_of(level).name; }

std::optional<CpuLevel> cpu_level_of(std::string_view name) {
  const auto* const found = std::ranges::find(kLevels, name, &LevelFact::name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<CpuLevel>(found - kLevels.begin());
}

std::string missing_here(CpuLevel level) {
  const CpuidLeaf leaf1 = leaf_here(1), leaf81 = leaf_here(0x8000'0001);
  const std::uint32_t here[] = {leaf1.ecx, leaf1.edx, leaf_here(7).ebx, leaf81.ecx, leaf81.edx};  // as FeatureWord
  std::string missing;
  for (const Feature& feature : kFeatures) {
    if (feature.from > level || (here[static_cast<std::size_t>(feature.word)] >> feature.bit & 1) != 0) continue;
    if (feature.name == "rdtscp") continue;  // in virtual time it is answered without the machine
    missing += (missing.empty() ? "" : " ") + std::string(feature.name);
  }
  return missing;
}

CpuLevel usual_level() {
  for (const CpuLevel level : {CpuLevel::V3, CpuLevel::V2}) {
    if (missing_here(level).empty()) return level;
  }
  return CpuLevel::V1;
}

std::uint64_t xcr0_of(CpuLevel level) {
  if (level == CpuLevel::V4) return 0xE7;
  return level == CpuLevel::V3 ? 7 : 0;
}

// The kernel's frame without the state, the state with its second magic word, alignment, the red zone.
std::uint64_t signal_frame_bytes(CpuLevel level) {
  constexpr std::uint64_t kFrame = 440, kAlignment = 64, kRedZone = 128, kMagic = 4;
  return (kFrame + state_bytes(level) + kMagic + kAlignment + kRedZone + 15) / 16 * 16;
}

CpuidLeaf cpuid_of(CpuLevel level, unsigned cpus, std::uint32_t leaf, std::uint32_t subleaf) {
  constexpr std::uint32_t kHighest = 0xD, kHighestExtended = 0x8000'0008;
  switch (leaf) {
    case 0: return {.eax = kHighest, .ebx = 0x756E'6547, .ecx = 0x6C65'746E, .edx = 0x4965'6E69};  // GenuineIntel
    case 1:
      return {.eax = fact_of(level).signature,
              .ebx = kLineBytes / 8 << 8 | cpus << 16,
              .ecx = word_of(level, FeatureWord::Ecx1),
              .edx = word_of(level, FeatureWord::Edx1) | (cpus > 1 ? 1U << 28 : 0)};
    case 2: return {.eax = 0x00FF'FF01};  // no descriptors: leaf 4 tells
    case 4: return cache_of(level, cpus, subleaf);
    case 7: return subleaf == 0 ? CpuidLeaf{.ebx = word_of(level, FeatureWord::Ebx7)} : CpuidLeaf{};
    case 0xB: {  // one thread a core, all cores in a package
      constexpr std::uint32_t kShift = 6;
      if (subleaf == 0) return {.ebx = 1, .ecx = 1U << 8};
      return subleaf == 1 ? CpuidLeaf{.eax = kShift, .ebx = cpus, .ecx = 2U << 8 | 1} : CpuidLeaf{.ecx = subleaf};
    }
    case 0xD: return state_of(level, subleaf);
    case 0x8000'0000: return {.eax = kHighestExtended};
    case 0x8000'0001: return {.ecx = word_of(level, FeatureWord::Ecx81), .edx = word_of(level, FeatureWord::Edx81)};
    case 0x8000'0002:
    case 0x8000'0003:
    case 0x8000'0004: {
      char text[48] = {};
      const std::string brand = brand_of(level);
      std::memcpy(text, brand.data(), std::min(brand.size(), sizeof text - 1));
      CpuidLeaf part;
      std::memcpy(&part, text + (leaf - 0x8000'0002) * sizeof part, sizeof part);
      return part;
    }
    case 0x8000'0006: return {.ecx = fact_of(level).l2_kib << 16 | 6U << 12 | kLineBytes};
    case 0x8000'0007: return {.edx = 1U << 8};        // the TSC is invariant
    case 0x8000'0008: return {.eax = 48U << 8 | 46};  // bits of addresses
    default: return {};
  }
}

std::string cpuinfo_of(CpuLevel level, unsigned cpus) {
  const std::uint32_t signature = fact_of(level).signature;
  std::string flags, text;
  for (const Feature& feature : kFeatures) {
    if (feature.from <= level && feature.name != "osxsave") flags += " " + std::string(feature.name);
  }
  const auto line = [&text](std::string_view key, const std::string& value) {
    text += std::string(key) + "\t: " + value + "\n";
  };
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    line("processor", std::to_string(cpu));
    line("vendor_id", "GenuineIntel");
    line("cpu family", "6");
    line("model\t", std::to_string((signature >> 4 & 0xF) | (signature >> 16 & 0xF) << 4));
    line("model name", brand_of(level));
    line("stepping", std::to_string(signature & 0xF));
    line("cpu MHz\t", "1000.000");
    line("cache size", std::to_string(kL3Bytes >> 10) + " KB");
    line("physical id", "0");
    line("siblings", std::to_string(cpus));
    line("core id\t", std::to_string(cpu));
    line("cpu cores", std::to_string(cpus));
    line("apicid\t", std::to_string(cpu));
    line("fpu\t", "yes");
    line("cpuid level", "13");
    line("flags\t", flags.substr(1));
    line("clflush size", std::to_string(kLineBytes));
    line("cache_alignment", std::to_string(kLineBytes));
    line("address sizes", "46 bits physical, 48 bits virtual");
    text += "\n";
  }
  return text;
}

}  // namespace zs::arch
