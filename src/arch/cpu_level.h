// A processor that is the same everywhere: the feature levels of the x86-64 psABI, as CPUID, the auxiliary vector and
// the system's files say them. Each has what its level names and nothing else, so that a program chooses the same code
// wherever it runs.
// source: System V ABI, AMD64 supplement, "Micro-Architecture Levels"; SDM vol. 2A, CPUID
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arch/cpu_model.h"

namespace zs::arch {

enum class CpuLevel : std::uint8_t {
  Host,  // whatever the machine has
  V1,    // x86-64
  V2,    // x86-64-v2
  V3,    // x86-64-v3
  V4,    // x86-64-v4
};

/// The machine around it.
inline constexpr std::uint64_t kFixedMemory = std::uint64_t{8} << 30;
inline constexpr char kFixedRelease[] = "6.1.0", kFixedName[] = "zeroskid";

/// As people write it: host, x86-64, x86-64-v2, x86-64-v3, x86-64-v4.
std::string_view name_of(CpuLevel level);
std::optional<CpuLevel> cpu_level_of(std::string_view name);
/// What of the level, which is not Host, this machine does not have, as /proc/cpuinfo calls it; empty: it has all.
std::string missing_here(CpuLevel level);
/// The highest that this machine has all of, but none above V3: most machines have that.
CpuLevel usual_level();

/// What CPUID says, of one thread of `cpus`; not of Host.
CpuidLeaf cpuid_of(CpuLevel level, unsigned cpus, std::uint32_t leaf, std::uint32_t subleaf);
/// XCR0: the components of the extended state. 0: no OSXSAVE, so XGETBV and XSAVE raise #UD.
std::uint64_t xcr0_of(CpuLevel level);
/// Of the kernel's largest signal frame: AT_MINSIGSTKSZ.
std::uint64_t signal_frame_bytes(CpuLevel level);
/// /proc/cpuinfo.
std::string cpuinfo_of(CpuLevel level, unsigned cpus);

}  // namespace zs::arch
