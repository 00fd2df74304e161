// Which model-specific registers the PMU of a CPU model has, which of their bits software may set, and what they start
// with. A register that is not here raises #GP(0); so does, on Intel's processors, writing a bit outside `writable`.
// Left out: the write half of IA32_MISC_ENABLE, which is the machine's; precise store (PEBS_ENABLE[63], Sandy Bridge);
// perfmon 6 and architectural PEBS; PEBS output to Processor Trace. Of AMD's processors: the one last branch of
// before the stack (1DBH to 1DEH), counters of L3 and of the data fabric. They raise #GP(0).
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
  LbrFrom,  // by index in the registers of the model's LbrKind
  LbrTo,
  LbrInfo,
  LbrCtl,
  LbrDepth,
  DbgExtnCfg,
  LerFrom,
  LerTo,
  LerInfo,
  PebsDataCfg,
  LoadLatency,
  PebsFrontend,
  OffcoreResponse,
  PerfMetrics,
  // Instruction-based sampling, arch/ibs.h.
  IbsFetchCtl,
  IbsFetchLinAd,
  IbsFetchPhysAd,
  IbsOpCtl,
  IbsOpRip,
  IbsOpData,
  IbsOpData2,
  IbsOpData3,
  IbsDcLinAd,
  IbsDcPhysAd,
  IbsControl,
  IbsBrTarget,
  IbsFetchCtlExtd,
};

enum class MsrAccess : std::uint8_t {
  ReadWrite,
  ReadOnly,      // a write raises #GP(0)
  WriteIgnored,  // a write does nothing
  WriteClears,   // a 1 clears the bit in another register; reads 0
  WriteSets,     // a 1 sets the bit in another register; reads 0
};

/// What is asked of a value beside its reserved bits.
enum class MsrValue : std::uint8_t {
  Bits,
  Truncated,  // bits outside `writable` are dropped, not refused
  Linear,     // a canonical address
  LbrFrom,    // a canonical address with flags above it, as LBR_FMT says
  LbrTo,      // likewise
  LbrDepth,   // one of the depths in CPUID.1CH
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
  std::uint64_t (*reset)(const CpuModel&) = [](const CpuModel&) -> std::uint64_t { return 0; };
  std::uint32_t stride = 1;  // from one of the block to the next

  constexpr std::uint32_t address(unsigned index) const { return first + stride * index; }
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
