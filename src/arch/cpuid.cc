// source: SDM vol. 2, CPUID, "Information Returned by CPUID Instruction"; APM vol. 3, "Obtaining Processor Information
// Via the CPUID Instruction".
#include "arch/cpuid.h"

#include "arch/ibs.h"

namespace zs::arch {

namespace {

// Leaf 1.
constexpr std::uint32_t kDtes64 = 1U << 2, kDsCpl = 1U << 4, kPdcm = 1U << 15;  // ECX
constexpr std::uint32_t kDs = 1U << 21;                                         // EDX
constexpr std::uint32_t kPerfCtrExtCore = 1U << 23;  // leaf 8000'0001H, ECX: PERF_CTLx and PERF_CTRx, six of them
constexpr std::uint32_t kIbs = 1U << 10;             // likewise
// Leaf 7, subleaf 0.
constexpr std::uint32_t kHle = 1U << 4, kRtm = 1U << 11;  // EBX
constexpr std::uint32_t kArchLbr = 1U << 19;              // EDX

// Legacy parts answer zeros. LIP is clear, and a deep C-state may reset the records.
CpuidLeaf last_branch_leaf(const CpuModel& model) {
  constexpr std::uint32_t kDeepCState = 1U << 30;
  constexpr std::uint32_t kFilters = 7;  // EBX: by CPL, by type, call-stack mode
  constexpr std::uint32_t kInfo = 7;     // ECX: mispredicted, cycles, type
  if (model.lbr_kind != LbrKind::Architectural) return {};
  return {.eax = model.lbr_depths | kDeepCState, .ebx = kFilters, .ecx = kInfo, .edx = 0};
}

// Leaf 8000'0022H. EAX: PerfMonV2, the last-branch stack, whether a PMI can freeze it. EBX: core counters, records of
// the stack; no counters of the data fabric.
CpuidLeaf amd_perfmon_leaf(const CpuModel& model) {
  constexpr std::uint32_t kPerfMonV2 = 1U << 0, kLbrStack = 1U << 1, kFreeze = 1U << 2;
  constexpr unsigned kLbrEntriesShift = 4;
  std::uint32_t eax = kPerfMonV2, ebx = model.general_counters;
  if (model.has_lbr()) {
    eax |= kLbrStack;
    ebx |= std::uint32_t{model.lbr_entries} << kLbrEntriesShift;
  }
  if (model.lbr_freeze == FreezeKind::Streamlined) eax |= kFreeze;
  return {.eax = eax, .ebx = ebx, .ecx = 0, .edx = 0};
}

// Leaf 8000'001BH: instruction-based sampling.
std::optional<CpuidLeaf> amd_leaf(const CpuModel& model, std::uint32_t leaf) {
  switch (leaf) {
    case 0x0A:
    case 0x1C: return CpuidLeaf{};
    case 0x8000'001B: return CpuidLeaf{.eax = ibs_capabilities(model)};
    case 0x8000'0022: return amd_perfmon_leaf(model);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<CpuidLeaf> pmu_leaf(const CpuModel& model, std::uint32_t leaf, std::uint32_t) {
  if (model.vendor == Vendor::Amd) return amd_leaf(model, leaf);
  switch (leaf) {
    case 0x0A: return perfmon_leaf(model);
    case 0x1C: return last_branch_leaf(model);
    default: return std::nullopt;
  }
}

CpuidBits pmu_bits(const CpuModel& model, std::uint32_t leaf, std::uint32_t subleaf, QuirkSet quirks) {
  const bool intel = model.vendor == Vendor::Intel;
  if (leaf == 1) {
    std::uint32_t ecx = kDsCpl | kPdcm;
    if (model.ds_64() && !quirks.has(Quirk::Ds32)) ecx |= kDtes64;
    return {.mask = {~0U, 0, kDtes64 | kDsCpl | kPdcm, kDs},
            .value = {model.signature, 0, intel ? ecx : 0, intel ? kDs : 0}};
  }
  if (leaf == 0x8000'0001 && !intel) {
    return {.mask = {0, 0, kPerfCtrExtCore | kIbs, 0},
            .value = {0, 0, kPerfCtrExtCore | (has_ibs(model) ? kIbs : 0), 0}};
  }
  if (leaf == 7 && subleaf == 0) {
    const std::uint32_t ebx = model.transactions ? kHle | kRtm : 0;
    return {.mask = {0, kHle | kRtm, 0, kArchLbr},
            .value = {0, ebx, 0, model.lbr_kind == LbrKind::Architectural ? kArchLbr : 0}};
  }
  return {};
}

}  // namespace zs::arch
