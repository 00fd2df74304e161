// The registers of the PMU as one table: existence and reserved bits by CPU model.
#include "arch/msr_map.h"

#include <algorithm>

#include "arch/cpu_model.h"
#include "arch/ibs.h"
#include "arch/linear.h"
#include "arch/msrs.h"

namespace zs::arch {

namespace {

constexpr std::uint32_t kLargestBlock = 32;  // registers of one kind; spares find_msr() most questions

constexpr std::uint64_t kAll = ~std::uint64_t{0};

constexpr std::uint64_t low_bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

// How many there are.
unsigned everywhere(const CpuModel&) { return 1; }
template <Vendor kVendor>
unsigned one_of(const CpuModel& m) {
  return m.vendor == kVendor ? 1 : 0;
}
constexpr auto one = one_of<Vendor::Intel>;
template <Vendor kVendor>
unsigned counters_of(const CpuModel& m) {
  return m.vendor == kVendor ? m.general_counters : 0;
}
constexpr auto general_counters = counters_of<Vendor::Intel>;
unsigned legacy_counters(const CpuModel& m) { return std::min(counters_of<Vendor::Amd>(m), kLegacyPerfCounters); }
unsigned one_from_version_4(const CpuModel& m) { return m.perfmon_version >= 4 ? 1 : 0; }
unsigned full_width_counters(const CpuModel& m) {
  return m.capabilities.has(PerfCapabilities::full_width) ? m.general_counters : 0;
}
unsigned fixed_counters(const CpuModel& m) { return m.fixed_counters; }
unsigned one_with_baseline(const CpuModel& m) { return m.pebs_baseline() ? 1 : 0; }
unsigned one_with_load_latency(const CpuModel& m) { return m.load_latency ? 1 : 0; }
unsigned one_with_frontend(const CpuModel& m) { return m.frontend_bits != 0 ? 1 : 0; }
unsigned one_with_metrics(const CpuModel& m) { return m.capabilities.has(PerfCapabilities::metrics) ? 1 : 0; }
unsigned one_with_ibs(const CpuModel& m) { return has_ibs(m) ? 1 : 0; }
unsigned offcore_responses(const CpuModel& m) { return m.offcore_registers; }

template <LbrKind Kind>
unsigned lbrs(const CpuModel& m) {
  return m.lbr_kind == Kind ? m.lbr_entries : 0;
}
template <LbrKind Kind>
unsigned one_with_lbrs(const CpuModel& m) {
  return m.lbr_kind == Kind ? 1 : 0;
}
unsigned one_with_a_top(const CpuModel& m) {
  return m.lbr_kind == LbrKind::Small || m.lbr_kind == LbrKind::Stack ? 1 : 0;
}
unsigned lbr_infos(const CpuModel& m) {
  return m.lbr_kind == LbrKind::Stack && has_info(m.lbr_format()) ? m.lbr_entries : 0;
}

// What software may set.
std::uint64_t none(const CpuModel&, unsigned) { return 0; }
std::uint64_t all(const CpuModel&, unsigned) { return kAll; }
std::uint64_t low_32(const CpuModel&, unsigned) { return low_bits(32); }
std::uint64_t general_width(const CpuModel& m, unsigned) { return low_bits(m.general_width); }
std::uint64_t fixed_width(const CpuModel& m, unsigned) { return low_bits(m.fixed_width); }
std::uint64_t frontend_bits(const CpuModel& m, unsigned) { return m.frontend_bits; }
std::uint64_t offcore_bits(const CpuModel& m, unsigned) { return m.offcore_bits; }
std::uint64_t metrics_bits(const CpuModel& m, unsigned) { return kAll >> (64 - 8 * m.metrics_fields); }
std::uint64_t latency_bits(const CpuModel&, unsigned) { return LoadLatency::fields.mask; }
std::uint64_t data_cfg_bits(const CpuModel&, unsigned) { return PebsDataCfg::fields.mask; }

std::uint64_t control_bits(const CpuModel& m, unsigned) {
  return m.counters().bits | (m.capabilities.has(PerfCapabilities::metrics) ? GlobalCtrl::metrics.mask : 0);
}

std::uint64_t pebs_bits(const CpuModel& m, unsigned) {
  const bool latency = m.load_latency && !m.pebs_baseline();
  return m.pebs_counters.bits | (latency ? PebsEnable::load_latency.mask : 0) |
         (m.precise_store ? PebsEnable::precise_store.mask : 0);
}

std::uint64_t select_bits(const CpuModel& m, unsigned index) {
  std::uint64_t bits = PerfEvtSel::fields.mask & low_bits(32);
  if (!m.any_thread()) bits &= ~PerfEvtSel::any.mask;
  if (m.transactions) bits |= PerfEvtSel::in_tx.mask;
  if (m.transactions && index == 2) bits |= PerfEvtSel::in_txcp.mask;
  if (m.pebs_baseline()) bits |= PerfEvtSel::adaptive.mask;
  return bits;
}

std::uint64_t fixed_control_bits(const CpuModel& m, unsigned) {
  const std::uint64_t existing = low_bits(4 * m.fixed_counters);
  std::uint64_t bits = FixedCtrCtrl::fields.mask & existing;
  if (!m.any_thread()) bits &= ~FixedCtrCtrl::any.mask;
  if (m.pebs_baseline()) bits |= FixedCtrCtrl::adaptive.mask & existing << 32;
  return bits;
}

// GLOBAL_STATUS bits that software may clear; bits of facilities that do not exist are reserved.
std::uint64_t status_bits(const CpuModel& m, unsigned) {
  std::uint64_t bits =
      m.counters().bits | GlobalStatus::uncore.mask | GlobalStatus::buffer.mask | GlobalStatus::condition.mask;
  if (m.perfmon_version >= 4) {
    bits |= GlobalStatus::lbr_frozen.mask | GlobalStatus::counters_frozen.mask | GlobalStatus::asci.mask;
  }
  if (m.capabilities.has(PerfCapabilities::metrics)) bits |= GlobalStatus::metrics.mask;
  return bits;
}

std::uint64_t settable_status_bits(const CpuModel& m, unsigned index) {
  return status_bits(m, index) & ~GlobalStatus::condition.mask;
}

template <typename Register>
std::uint64_t bits_of(const CpuModel&, unsigned) {
  return Register::fields.mask;
}
std::uint64_t physical_bits(const CpuModel&, unsigned) { return kIbsPhysicalBits; }

// AMD's: what is set when a PMI freezes something is there where something can be frozen.
std::uint64_t amd_status_bits(const CpuModel& m, unsigned index) {
  return control_bits(m, index) | (m.lbr_freeze == FreezeKind::Streamlined ? GlobalStatus::lbr_frozen.mask : 0) |
         (m.counter_freeze == FreezeKind::Streamlined ? GlobalStatus::counters_frozen.mask : 0);
}

std::uint64_t perf_ctl_bits(const CpuModel&, unsigned) { return PerfCtl::fields.mask; }

// Bit 0 is taken and without effect where LBRs are architectural, AMD's, or where there are none: our choice, software
// of all kinds runs.
std::uint64_t debugctl_bits(const CpuModel& m, unsigned) {
  if (m.vendor == Vendor::Amd) {
    return DebugCtl::lbr.mask | DebugCtl::btf.mask |
           (m.lbr_freeze == FreezeKind::Streamlined ? DebugCtl::freeze_lbrs.mask : 0) |
           (m.counter_freeze == FreezeKind::Streamlined ? DebugCtl::freeze_perfmon.mask : 0);
  }
  std::uint64_t bits = DebugCtl::lbr.mask | DebugCtl::btf.mask | DebugCtl::tr.mask | DebugCtl::bts.mask |
                       DebugCtl::btint.mask | DebugCtl::bts_off_os.mask | DebugCtl::bts_off_usr.mask |
                       DebugCtl::freeze_lbrs.mask | DebugCtl::freeze_perfmon.mask;
  if (m.uncore_pmi) bits |= DebugCtl::uncore_pmi.mask;
  if (m.capabilities.has(PerfCapabilities::smm_freeze)) bits |= DebugCtl::freeze_in_smm.mask;
  if (m.transactions) bits |= DebugCtl::rtm.mask;
  return bits;
}

std::uint64_t lbr_select_bits(const CpuModel& m, unsigned) {
  return m.lbr_call_stack ? LbrSelect::fields.mask : LbrSelect::fields.mask & ~LbrSelect::call_stack.mask;
}
std::uint64_t lbr_ctl_bits(const CpuModel&, unsigned) { return LbrCtl::fields.mask; }
std::uint64_t lbr_tos_bits(const CpuModel& m, unsigned) { return m.lbr_entries - 1U; }
std::uint64_t lbr_info_bits(const CpuModel& m, unsigned) {
  constexpr std::uint64_t architectural = LbrInfo::type.mask | LbrInfo::cycles_valid.mask;
  return m.lbr_kind == LbrKind::Architectural ? LbrInfo::fields.mask : LbrInfo::fields.mask & ~architectural;
}

// What they start with, where that is not 0.
std::uint64_t starting_0(const CpuModel&) { return 0; }
std::uint64_t starting_control(const CpuModel& m) { return m.enabled_at_reset().bits; }
std::uint64_t capabilities(const CpuModel& m) { return m.capabilities.raw(); }
std::uint64_t facilities(const CpuModel&) { return MiscEnable{}.with(MiscEnable::monitoring, 1).raw(); }
std::uint64_t ibs_control(const CpuModel&) { return kIbsControlStart; }
std::uint64_t starting_depth(const CpuModel& m) { return m.lbr_entries; }

using enum MsrAccess;
using enum MsrValue;

// clang-format off
constexpr MsrFact kFacts[] = {
    // name, first, how many of them, bits that software may set, access, value, start
    {Msr::LbrFrom,          "MSR_LASTBRANCH_FROM_IP",      SmallLbrFrom::msrs.first,
     lbrs<LbrKind::Small>, all,                 ReadWrite,   MsrValue::LbrFrom},
    {Msr::LbrTo,            "MSR_LASTBRANCH_TO_IP",        SmallLbrTo::msrs.first,
     lbrs<LbrKind::Small>, all,                 ReadWrite,   MsrValue::LbrTo},
    {Msr::GeneralCounter,   "IA32_PMC",                    GeneralCounter::msrs.first,
     general_counters,    low_32,               ReadWrite,   Truncated},
    {Msr::PerfEvtSel,       "IA32_PERFEVTSEL",             PerfEvtSel::msrs.first,
     general_counters,    select_bits,          ReadWrite,   Bits},
    {Msr::MiscEnable,       "IA32_MISC_ENABLE",            MiscEnable::msrs.first,
     one,                 none,                 ReadOnly,    Bits,    facilities},
    {Msr::OffcoreResponse,  "MSR_OFFCORE_RSP_",            OffcoreResponse::msrs.first,
     offcore_responses,   offcore_bits,         ReadWrite,   Bits},
    {Msr::LbrSelect,        "MSR_LBR_SELECT",              LbrSelect::msrs.first,
     one_with_lbrs<LbrKind::Stack>, lbr_select_bits, ReadWrite, Bits},
    {Msr::LbrTos,           "MSR_LASTBRANCH_TOS",          LbrTos::msrs.first,
     one_with_a_top,      lbr_tos_bits,         ReadWrite,   Bits},
    {Msr::DebugCtl,         "IA32_DEBUGCTL",               DebugCtl::msrs.first,
     everywhere,                 debugctl_bits,        ReadWrite,   Bits},
    {Msr::LerFrom,          "MSR_LER_FROM_LIP",            LerFrom::msrs.first,
     one_with_a_top,      none,                 ReadOnly,    Bits},
    {Msr::LerFrom,          "IA32_LER_FROM_IP",            LerFrom::msrs.first,
     one_with_lbrs<LbrKind::Architectural>, all, ReadWrite,  Linear},
    {Msr::LerTo,            "MSR_LER_TO_LIP",              LerTo::msrs.first,
     one_with_a_top,      none,                 ReadOnly,    Bits},
    {Msr::LerTo,            "IA32_LER_TO_IP",              LerTo::msrs.first,
     one_with_lbrs<LbrKind::Architectural>, all, ReadWrite,  Linear},
    {Msr::LerInfo,          "IA32_LER_INFO",               LerInfo::msrs.first,
     one_with_lbrs<LbrKind::Architectural>, lbr_info_bits, ReadWrite, Bits},
    {Msr::FixedCounter,     "IA32_FIXED_CTR",              FixedCounter::msrs.first,
     fixed_counters,      fixed_width,          ReadWrite,   Truncated},
    {Msr::PerfMetrics,      "MSR_PERF_METRICS",            PerfMetrics::msrs.first,
     one_with_metrics,    metrics_bits,         ReadWrite,   Bits},
    {Msr::PerfCapabilities, "IA32_PERF_CAPABILITIES",      PerfCapabilities::msrs.first,
     one,                 none,                 ReadOnly,    Bits,    capabilities},
    {Msr::FixedCtrCtrl,     "IA32_FIXED_CTR_CTRL",         FixedCtrCtrl::msrs.first,
     one,                 fixed_control_bits,   ReadWrite,   Bits},
    {Msr::GlobalStatus,     "IA32_PERF_GLOBAL_STATUS",     GlobalStatus::msrs.first,
     one,                 none,                 ReadOnly,    Bits},
    {Msr::GlobalCtrl,       "IA32_PERF_GLOBAL_CTRL",       GlobalCtrl::msrs.first,
     one,                 control_bits,         ReadWrite,   Bits,    starting_control},
    {Msr::GlobalOvfCtrl,    "IA32_PERF_GLOBAL_OVF_CTRL",   GlobalOvfCtrl::msrs.first,
     one,                 status_bits,          WriteClears, Bits},
    {Msr::GlobalStatusSet,  "IA32_PERF_GLOBAL_STATUS_SET", GlobalStatusSet::msrs.first,
     one_from_version_4,  settable_status_bits, WriteSets,   Bits},
    {Msr::GlobalInUse,      "IA32_PERF_GLOBAL_INUSE",      GlobalInUse::msrs.first,
     one_from_version_4,  none,                 ReadOnly,    Bits},
    {Msr::PebsEnable,       "IA32_PEBS_ENABLE",            PebsEnable::msrs.first,
     one,                 pebs_bits,            ReadWrite,   Bits},
    {Msr::PebsDataCfg,      "MSR_PEBS_DATA_CFG",           PebsDataCfg::msrs.first,
     one_with_baseline,   data_cfg_bits,        ReadWrite,   Bits},
    {Msr::LoadLatency,      "MSR_PEBS_LD_LAT",             LoadLatency::msrs.first,
     one_with_load_latency, latency_bits,       ReadWrite,   Bits},
    {Msr::PebsFrontend,     "MSR_PEBS_FRONTEND",           PebsFrontend::msrs.first,
     one_with_frontend,   frontend_bits,        ReadWrite,   Bits},
    {Msr::FullWidthCounter, "IA32_A_PMC",                  FullWidthCounter::msrs.first,
     full_width_counters, general_width,        ReadWrite,   Bits},
    {Msr::DsArea,           "IA32_DS_AREA",                DsArea::msrs.first,
     one,                 all,                  ReadWrite,   Linear},
    {Msr::LbrFrom,          "MSR_LASTBRANCH_FROM_IP",      LbrFrom::msrs.first,
     lbrs<LbrKind::Stack>, all,                 ReadWrite,   MsrValue::LbrFrom},
    {Msr::LbrTo,            "MSR_LASTBRANCH_TO_IP",        LbrTo::msrs.first,
     lbrs<LbrKind::Stack>, all,                 ReadWrite,   MsrValue::LbrTo},
    {Msr::LbrInfo,          "MSR_LBR_INFO",                LbrInfo::msrs.first,
     lbr_infos,           lbr_info_bits,        ReadWrite,   Bits},
    {Msr::LbrInfo,          "IA32_LBR_INFO",               ArchLbrInfo::msrs.first,
     lbrs<LbrKind::Architectural>, lbr_info_bits, ReadWrite, Bits},
    {Msr::LbrCtl,           "IA32_LBR_CTL",                LbrCtl::msrs.first,
     one_with_lbrs<LbrKind::Architectural>, lbr_ctl_bits, ReadWrite, Bits},
    {Msr::LbrDepth,         "IA32_LBR_DEPTH",              LbrDepth::msrs.first,
     one_with_lbrs<LbrKind::Architectural>, all, ReadWrite, MsrValue::LbrDepth, starting_depth},
    {Msr::LbrFrom,          "IA32_LBR_FROM_IP",            ArchLbrFrom::msrs.first,
     lbrs<LbrKind::Architectural>, all,         ReadWrite,   Linear},
    {Msr::LbrTo,            "IA32_LBR_TO_IP",              ArchLbrTo::msrs.first,
     lbrs<LbrKind::Architectural>, all,         ReadWrite,   Linear},

    // AMD's. Reserved bits of what counters have are dropped and a write of the status is ignored, as measured by others and as virtual machines
    // play it.
    {Msr::LbrSelect,        "LbrSelect",                   kAmdLbrSelect,
     one_with_lbrs<LbrKind::Amd>, lbr_select_bits, ReadWrite, Bits},
    {Msr::DbgExtnCfg,       "DbgExtnCfg",                  DbgExtnCfg::msr,
     one_with_lbrs<LbrKind::Amd>, bits_of<DbgExtnCfg>, ReadWrite, Bits},
    {Msr::GlobalStatus,     "PerfCntrGlobalStatus",        kAmdGlobalStatus,
     one_of<Vendor::Amd>, none,                 WriteIgnored, Truncated},
    {Msr::GlobalCtrl,       "PerfCntrGlobalCtl",           kAmdGlobalCtl,
     one_of<Vendor::Amd>, control_bits,         ReadWrite,   Truncated, starting_control},
    {Msr::GlobalOvfCtrl,    "PerfCntrGlobalStatusClr",     kAmdGlobalStatusClr,
     one_of<Vendor::Amd>, amd_status_bits,      WriteClears, Truncated},
    {Msr::PerfEvtSel,       "PERF_LEGACY_CTL",             kLegacyPerfCtl,
     legacy_counters,     perf_ctl_bits,        ReadWrite,   Truncated},
    {Msr::FullWidthCounter, "PERF_LEGACY_CTR",             kLegacyPerfCtr,
     legacy_counters,     general_width,        ReadWrite,   Truncated},
    {Msr::PerfEvtSel,       "PERF_CTL",                    kPerfCtl,
     counters_of<Vendor::Amd>, perf_ctl_bits,   ReadWrite,   Truncated, starting_0, 2},
    {Msr::FullWidthCounter, "PERF_CTR",                    kPerfCtr,
     counters_of<Vendor::Amd>, general_width,   ReadWrite,   Truncated, starting_0, 2},
    {Msr::LbrFrom,          "SampBrFrom",                  kAmdLbrFrom,
     lbrs<LbrKind::Amd>,  all,                  ReadWrite,   MsrValue::LbrFrom, starting_0, 2},
    {Msr::LbrTo,            "SampBrTo",                    kAmdLbrTo,
     lbrs<LbrKind::Amd>,  all,                  ReadWrite,   MsrValue::LbrTo, starting_0, 2},
    // Of these a reserved bit is refused: our choice, the manual says only that it is reserved.
    {Msr::IbsFetchCtl,      "IbsFetchCtl",                 IbsFetchCtl::msr,
     one_with_ibs,        bits_of<IbsFetchCtl>, ReadWrite,   Bits},
    {Msr::IbsFetchLinAd,    "IbsFetchLinAd",               kIbsFetchLinAd,
     one_with_ibs,        all,                  ReadWrite,   Bits},
    {Msr::IbsFetchPhysAd,   "IbsFetchPhysAd",              kIbsFetchPhysAd,
     one_with_ibs,        physical_bits,        ReadWrite,   Bits},
    {Msr::IbsOpCtl,         "IbsOpCtl",                    IbsOpCtl::msr,
     one_with_ibs,        bits_of<IbsOpCtl>,    ReadWrite,   Bits},
    {Msr::IbsOpRip,         "IbsOpRip",                    kIbsOpRip,
     one_with_ibs,        all,                  ReadWrite,   Bits},
    {Msr::IbsOpData,        "IbsOpData",                   IbsOpData::msr,
     one_with_ibs,        bits_of<IbsOpData>,   ReadWrite,   Bits},
    {Msr::IbsOpData2,       "IbsOpData2",                  IbsOpData2::msr,
     one_with_ibs,        bits_of<IbsOpData2>,  ReadWrite,   Bits},
    {Msr::IbsOpData3,       "IbsOpData3",                  IbsOpData3::msr,
     one_with_ibs,        bits_of<IbsOpData3>,  ReadWrite,   Bits},
    {Msr::IbsDcLinAd,       "IbsDcLinAd",                  kIbsDcLinAd,
     one_with_ibs,        all,                  ReadWrite,   Bits},
    {Msr::IbsDcPhysAd,      "IbsDcPhysAd",                 kIbsDcPhysAd,
     one_with_ibs,        physical_bits,        ReadWrite,   Bits},
    {Msr::IbsControl,       "IBS_CTL",                     kIbsControl,
     one_with_ibs,        none,                 ReadOnly,    Bits,    ibs_control},
    {Msr::IbsBrTarget,      "IbsBrTarget",                 kIbsBrTarget,
     one_with_ibs,        all,                  ReadWrite,   Bits},
    {Msr::IbsFetchCtlExtd,  "IbsFetchCtlExtd",             IbsFetchCtlExtd::msr,
     one_with_ibs,        bits_of<IbsFetchCtlExtd>, ReadWrite, Bits},
};
// clang-format on
static_assert(std::ranges::is_sorted(kFacts, {}, &MsrFact::first));

// LBR_FMT 4 on a processor without transactions takes their two flag bits for part of the address.
bool is_lbr_from(const CpuModel& m, std::uint64_t value) {
  std::uint64_t flags = lbr_from_flags(m.lbr_format());
  if (!m.transactions) flags &= ~(kLbrInTx | kLbrTxAbort);
  return is_canonical(lbr_without(flags, value));
}

bool is_depth(const CpuModel& m, std::uint64_t value) {
  return value != 0 && value % 8 == 0 && value <= 64 && (m.lbr_depths >> (value / 8 - 1) & 1) != 0;
}

}  // namespace

std::span<const MsrFact> msr_facts() { return kFacts; }

bool is_pmu_msr(std::uint32_t address) {
  return std::ranges::any_of(cpu_models(), [&](const CpuModel& model) { return find_msr(model, address).has_value(); });
}

std::optional<MsrRef> find_msr(const CpuModel& model, std::uint32_t address) {
  const std::uint32_t first = address - std::min(address, kLargestBlock - 1);
  for (auto fact = std::ranges::lower_bound(kFacts, first, {}, &MsrFact::first);
       fact != std::end(kFacts) && fact->first <= address; ++fact) {
    const std::uint32_t offset = address - fact->first;
    if (offset % fact->stride != 0) continue;
    const std::uint32_t index = offset / fact->stride;
    if (index < fact->count(model)) return MsrRef{&*fact, index};
  }
  return std::nullopt;
}

bool is_writable(const CpuModel& model, const MsrRef& msr, std::uint64_t value) {
  if (msr.fact->access == MsrAccess::ReadOnly) return false;
  switch (msr.fact->value) {
    case MsrValue::Bits: return (value & ~msr.fact->writable(model, msr.index)) == 0;
    case MsrValue::Truncated: return true;
    case MsrValue::Linear: return is_canonical(value);
    case MsrValue::LbrFrom: return is_lbr_from(model, value);
    case MsrValue::LbrTo: return is_canonical(lbr_without(lbr_to_flags(model.lbr_format()), value));
    case MsrValue::LbrDepth: return is_depth(model, value);
  }
  return false;
}

}  // namespace zs::arch
