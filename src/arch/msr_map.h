// Which model-specific registers the PMU of a CPU model has, and which of their bits software may set. A register that is
// not here raises #GP(0); so does writing a bit outside `writable`.
// Left out so far: BTS (its DEBUGCTL bits), load latency (MSR_PEBS_LD_LAT, PEBS_ENABLE[35:32]), MSR_PEBS_FRONTEND, off-core
// responses, last-exception records, the write half of IA32_MISC_ENABLE, perfmon 5 and later. They raise #GP(0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace zs::arch {

struct CpuModel;

enum class Msr : std::uint8_t {
  GeneralCounter,
  FullWidthCounter,
  FixedCounter,
  PerfEvtSel,
  FixedCtrCtrl,
  GlobalCtrl,
  GlobalStatus,
  GlobalOvfCtrl,
  GlobalStatusSet,
  GlobalInUse,
  PerfCapabilities,
  PebsEnable,
  DsArea,
  MiscEnable,
  DebugCtl,
  LbrSelect,
  LbrTos,
  LbrFrom,
  LbrTo,
  LbrInfo,
};

enum class MsrAccess : std::uint8_t {
  ReadWrite,
  ReadOnly,     // a write raises #GP(0)
  WriteClears,  // a 1 clears the bit in another register; reads 0
  WriteSets,    // a 1 sets the bit in another register; reads 0
};

/// What is asked of a value beside its reserved bits.
enum class MsrValue : std::uint8_t {
  Bits,
  Truncated,  // bits outside `writable` are dropped, not refused
  Linear,     // a canonical address
  LbrFrom,    // a canonical address with flags above it, as LBR_FMT says
};

/// A register, or a block of equal ones.
struct MsrFact {
  Msr msr;
  std::string_view name;
  std::uint32_t first;
  unsigned (*count)(const CpuModel&);  // 0: this CPU model has none
  std::uint64_t (*writable)(const CpuModel&, unsigned index);
  MsrAccess access;
  MsrValue value;
};

/// Every register, by address.
std::span<const MsrFact> msr_facts();

struct MsrRef {
  const MsrFact* fact;
  unsigned index;  // in its block
};

/// Whether the address is one that some model's PMU answers: if this model's does not, the access raises #GP(0).
/// IA32_MISC_ENABLE and IA32_DEBUGCTL are among them; a machine that has more bits of the former merges them.
bool is_pmu_msr(std::uint32_t address);

/// The register at `address`, if `model` has it.
std::optional<MsrRef> find_msr(const CpuModel& model, std::uint32_t address);

/// Whether WRMSR takes `value`; false: #GP(0).
bool is_writable(const CpuModel& model, const MsrRef& msr, std::uint64_t value);

}  // namespace zs::arch
