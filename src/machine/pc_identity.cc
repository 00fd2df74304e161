#include "machine/pc_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "arch/cpu_model.h"
#include "arch/cpuid.h"
#include "arch/msr_map.h"
#include "arch/msrs.h"
#include "machine/clock.h"
#include "machine/devices/local_apic.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/pmu.h"
#include "uarch/core_model.h"
#include "uarch/memory_parameters.h"

namespace zs::machine {
namespace {

namespace leaf1 {
enum Ecx : std::uint32_t { kX2apic = 1u << 21, kTscDeadline = 1u << 24 };
enum Edx : std::uint32_t {
  kFpu = 1u << 0,
  kDe = 1u << 2,
  kPse = 1u << 3,
  kTsc = 1u << 4,
  kMsr = 1u << 5,
  kPae = 1u << 6,
  kMce = 1u << 7,
  kCx8 = 1u << 8,
  kApic = 1u << 9,
  kSep = 1u << 11,
  kMtrr = 1u << 12,
  kPge = 1u << 13,
  kMca = 1u << 14,
  kCmov = 1u << 15,
  kPat = 1u << 16,
  kPse36 = 1u << 17,
  kClfsh = 1u << 19,
  kMmx = 1u << 23,
  kFxsr = 1u << 24,
  kSse = 1u << 25,
  kSse2 = 1u << 26,
};
constexpr std::uint32_t kFeatures = kFpu | kDe | kPse | kTsc | kMsr | kPae | kMce | kCx8 | kApic | kSep | kMtrr | kPge |
                                    kMca | kCmov | kPat | kPse36 | kClfsh | kMmx | kFxsr | kSse | kSse2;
constexpr std::uint32_t kClflushLine = 8 << 8;  // in 8 bytes
}  // namespace leaf1

namespace leaf81 {
enum Ecx : std::uint32_t { kLahf = 1u << 0, kExtendedApic = 1u << 3, kTopologyExtensions = 1u << 22 };
enum Edx : std::uint32_t {
  kSyscall = 1u << 11,
  kNx = 1u << 20,
  kPage1G = 1u << 26,
  kRdtscp = 1u << 27,
  kLm = 1u << 29
};
}  // namespace leaf81

constexpr std::uint32_t kExtended = 0x80000000, kLastExtended = 0x80000008, kLastExtendedOfAmd = 0x80000022;
constexpr std::uint32_t kAddressBits = 48 << 8 | 40;

/// "Extended Topology Enumeration": one core with one thread. Shifts are 0, and so is the x2APIC ID.
/// source: SDM vol. 2, CPUID, leaf 0BH; vol. 3A, "CPUID Extensions and Topology Enumeration": it comes with x2APIC.
CpuidResult topology(std::uint32_t subleaf) {
  constexpr std::uint32_t kSmt = 1 << 8, kCore = 2 << 8;
  switch (subleaf) {
    case 0: return {0, 1, kSmt, 0};
    case 1: return {0, 1, kCore | 1, 0};
    default: return {0, 0, subleaf & 0xFF, 0};
  }
}

/// AMD's "Cache Topology Information": L1D, L1I, L2, L3 as the modelled core has them, each of one thread.
/// source: APM vol. 3, function 8000'001DH.
CpuidResult cache_topology(const arch::CpuModel& model, std::uint32_t subleaf) {
  constexpr std::uint32_t kData = 1, kInstructions = 2, kUnified = 3, kSelfInitialising = 1 << 8;
  constexpr std::uint32_t kInclusive = 1 << 1, kNotByWbinvd = 1 << 0;
  const uarch::CoreModel* const core = uarch::find_core_model(model.name);
  if (core == nullptr) return {};
  const auto cache = [](const uarch::CacheParameters& c, std::uint32_t type, std::uint32_t level,
                        std::uint32_t properties) -> CpuidResult {
    const auto sets = static_cast<std::uint32_t>(c.bytes / (c.ways * uarch::kLineBytes));
    return {type | level << 5 | kSelfInitialising, (c.ways - 1) << 22 | (uarch::kLineBytes - 1), sets - 1, properties};
  };
  const uarch::MemoryParameters& memory = core->memory;
  switch (subleaf) {
    case 0: return cache(memory.l1d, kData, 1, 0);
    case 1: return cache(memory.l1i, kInstructions, 1, 0);
    case 2: return cache(memory.l2, kUnified, 2, memory.l2_includes_l1 ? kInclusive : 0);
    case 3: return cache(memory.llc, kUnified, 3, kNotByWbinvd);
    default: return {};
  }
}

/// Twelve or sixteen letters as registers hold them.
std::uint32_t letters(const std::string& text, std::size_t at) {
  char four[4] = {};
  for (std::size_t i = 0; i < 4 && at + i < text.size(); ++i) four[i] = text[at + i];
  std::uint32_t word = 0;
  std::memcpy(&word, four, sizeof word);
  return word;
}

constexpr std::uint32_t kTimeStampCounter = 0x10, kMicrocodeRevision = 0x8B;
constexpr std::uint32_t kMiscEnable = arch::MiscEnable::msrs.first, kDebugCtl = arch::DebugCtl::msrs.first;

/// IA32_MISC_ENABLE bits that are not the PMU's: those that software may set here are without effect.
constexpr std::uint64_t kMiscWritable =
    1u << 0 | 1u << 3 | 1u << 16 | 1u << 18 | 1u << 22 | 1u << 23 | std::uint64_t{1} << 34;

/// MSRs that system software writes and reads back, without any effect here, or that are constants. `start` is what the
/// firmware leaves: memory types write-back for RAM, uncached from 3 GiB up and from A0000H to EFFFFH.
struct PlainMsr {
  std::uint32_t first, last;
  std::uint64_t start, writable;  // writable 0: a write raises #GP(0)
  std::optional<arch::Vendor> only = std::nullopt;
};
using enum arch::Vendor;
constexpr std::uint64_t kAll = ~std::uint64_t{0};
// clang-format off
constexpr PlainMsr kPlainMsrs[] = {
    {0x017, 0x017, 0, 0, Intel},                      // IA32_PLATFORM_ID
    {0x03A, 0x03A, 1, 0, Intel},                      // IA32_FEATURE_CONTROL: locked, nothing enabled
    {0x079, 0x079, 0, kAll, Intel},                   // IA32_BIOS_UPDT_TRIG
    // chosen: microcode as new as any, so that systems take nothing for broken that a revision of it mended.
    {kMicrocodeRevision, kMicrocodeRevision, std::uint64_t{0x7FFFFFFF} << 32, kAll, Intel},
    {kMicrocodeRevision, kMicrocodeRevision, 0, kAll, Amd},
    {0x0CE, 0x0CE, kTscTicksPerBusTick << 8, 0, Intel},  // MSR_PLATFORM_INFO: ratio of TSC and bus clock
    {0x0E7, 0x0E8, 0, kAll},                   // IA32_MPERF, IA32_APERF
    {0x0FE, 0x0FE, 0x508, 0},                  // IA32_MTRRCAP
    {0x179, 0x179, 0, 0},                      // IA32_MCG_CAP: no banks
    {0x17A, 0x17A, 0, 0},                      // IA32_MCG_STATUS
    {0x198, 0x199, 0, kAll, Intel},                   // IA32_PERF_STATUS, IA32_PERF_CTL
    {0x19A, 0x19C, 0, kAll, Intel},                   // clock modulation, thermal
    {0x200, 0x200, 0xC0000000, kAll},          // variable MTRRs
    {0x201, 0x201, 0xFFC0000800, kAll},
    {0x202, 0x20F, 0, kAll},
    {0x250, 0x250, 0x0606060606060606, kAll},  // fixed MTRRs
    {0x258, 0x258, 0x0606060606060606, kAll},
    {0x259, 0x259, 0, kAll},
    {0x268, 0x26D, 0, kAll},
    {0x26E, 0x26F, 0x0505050505050505, kAll},
    {0x277, 0x277, 0x0007040600070406, kAll},  // IA32_PAT
    {0x2FF, 0x2FF, 0xC06, 0xCFF},                  // IA32_MTRR_DEF_TYPE
    {0xC0010010, 0xC0010010, 0, kAll, Amd},        // SYSCFG
    {0xC0010015, 0xC0010015, 1 << 24, kAll, Amd},  // HWCR: the TSC runs at the frequency of P0
    {0xC001001F, 0xC001001F, 0, kAll, Amd},        // NB_CFG
};
// clang-format on

const PlainMsr* find_plain(std::uint32_t msr, arch::Vendor vendor) {
  const auto* const at = std::find_if(std::begin(kPlainMsrs), std::end(kPlainMsrs), [=](const PlainMsr& row) {
    return msr >= row.first && msr <= row.last && row.only.value_or(vendor) == vendor;
  });
  return at == std::end(kPlainMsrs) ? nullptr : at;
}

}  // namespace

CpuidResult PcCpuid::cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  const auto last_brs = arch::pmu_leaf(model_, 0x1C, 0);
  const std::uint32_t last = last_brs && last_brs->eax != 0 ? 0x1C : model_.x2apic ? 0x0B : 0x0A;
  const bool amd = model_.vendor == arch::Vendor::Amd;
  const std::uint32_t last_extended = amd ? kLastExtendedOfAmd : kLastExtended;
  if ((leaf > last && leaf < kExtended) || leaf > last_extended) {
    if (amd) return {};
    leaf = last;  // as Intel's processors do: the data of the highest leaf
  }
  if (const auto own = arch::pmu_leaf(model_, leaf, subleaf)) return {own->eax, own->ebx, own->ecx, own->edx};
  CpuidResult result;
  const std::string vendor(arch::vendor_name(model_));
  switch (leaf) {
    case 0: result = {last, letters(vendor, 0), letters(vendor, 8), letters(vendor, 4)}; break;
    case 1: {
      // Without its APIC the processor says that it has none.
      const std::uint32_t features = leaf1::kFeatures & ~(apic_.enabled() ? 0u : leaf1::kApic);
      const std::uint32_t apic =
          (model_.x2apic ? leaf1::kX2apic : 0u) | (model_.tsc_deadline ? leaf1::kTscDeadline : 0u);
      result = {model_.signature, leaf1::kClflushLine | 1 << 16, apic, features};
      break;
    }
    case 0x0B: result = topology(subleaf); break;
    // AMD's has the vendor's letters and the signature here, too.
    case kExtended:
      result = {last_extended, 0, 0, 0};
      if (amd) result = {last_extended, letters(vendor, 0), letters(vendor, 8), letters(vendor, 4)};
      break;
    case kExtended + 1:
      result = {amd ? model_.signature : 0, 0,
                leaf81::kLahf | (amd ? leaf81::kExtendedApic | leaf81::kTopologyExtensions : 0u),
                leaf81::kSyscall | leaf81::kNx | leaf81::kPage1G | leaf81::kRdtscp | leaf81::kLm};
      break;
    case kExtended + 2:
    case kExtended + 3:
    case kExtended + 4: {
      // source: SDM vol. 2, CPUID, "The Processor Brand String Method". perf looks for the frequency at its end.
      const std::string brand = fmt::format("zeroskid {} CPU @ {:.2f}GHz", model_.name, kTscHz / 1e9);
      const std::size_t at = (leaf - kExtended - 2) * 16;
      result = {letters(brand, at), letters(brand, at + 4), letters(brand, at + 8), letters(brand, at + 12)};
      break;
    }
    case kExtended + 7: result = {0, 0, 0, 1u << 8}; break;  // the TSC runs at one rate
    case kExtended + 8: result = {kAddressBits, 0, 0, 0}; break;
    case kExtended + 0x1D: result = cache_topology(model_, subleaf); break;
    default: break;
  }
  const arch::CpuidBits bits = arch::pmu_bits(model_, leaf, subleaf, quirks_);
  result.eax = (result.eax & ~bits.mask.eax) | bits.value.eax;
  result.ebx = (result.ebx & ~bits.mask.ebx) | bits.value.ebx;
  result.ecx = (result.ecx & ~bits.mask.ecx) | bits.value.ecx;
  result.edx = (result.edx & ~bits.mask.edx) | bits.value.edx;
  return result;
}

std::uint64_t PcMsrs::tsc() const { return clock_.now() + tsc_offset_; }

bool PcMsrs::rdmsr(std::uint32_t msr, std::uint64_t& value) {
  ++accesses_;
  if (msr == kTimeStampCounter) {
    value = tsc();
    return true;
  }
  if (LocalApic::is_msr(msr)) {
    return apic_.rdmsr(msr, value);
  }
  if (msr == kMiscEnable) {
    std::uint64_t pmu_bits = 0;
    if (!pmu_.rdmsr(msr, pmu_bits)) return false;
    value = pmu_bits | misc_enable_;
    return true;
  }
  if (arch::is_pmu_msr(msr)) return pmu_.rdmsr(msr, value);
  const PlainMsr* const plain = find_plain(msr, model_.vendor);
  if (plain == nullptr) return false;
  // Software writes 0 to this one, executes CPUID, which loads it, and reads.
  const auto at = msr == kMicrocodeRevision ? stored_.end() : stored_.find(msr);
  value = at == stored_.end() ? plain->start : at->second;
  return true;
}

bool PcMsrs::wrmsr(std::uint32_t msr, std::uint64_t value) {
  ++accesses_;
  if (msr == kTimeStampCounter) {
    tsc_offset_ = value - clock_.now();
    apic_.tsc_written(tsc_offset_);
    return true;
  }
  if (LocalApic::is_msr(msr)) {
    const bool done = apic_.wrmsr(msr, value);
    if (done && msr == LocalApic::kBaseMsr) cpu_->memory_map_changed();
    return done;
  }
  if (msr == kMiscEnable) {
    if (model_.vendor != arch::Vendor::Intel) return false;
    if ((value & ~(kMiscWritable | arch::MiscEnable::fields.mask)) != 0) return false;  // the PMU's are ignored
    misc_enable_ = value & kMiscWritable;
    return true;
  }
  if (arch::is_pmu_msr(msr)) {
    const bool done = pmu_.wrmsr(msr, value);
    if (done && msr == kDebugCtl) cpu_->set_debugctl(pmu_.debugctl().raw());
    return done;
  }
  const PlainMsr* const plain = find_plain(msr, model_.vendor);
  if (plain == nullptr || plain->writable == 0 || (value & ~plain->writable) != 0) return false;
  stored_[msr] = value;
  return true;
}

bool PcMsrs::rdpmc(std::uint32_t ecx, std::uint64_t& value) {
  ++accesses_;
  return pmu_.rdpmc(ecx, value);
}

}  // namespace zs::machine
