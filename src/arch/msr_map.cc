// The registers of the PMU as one table: existence and reserved bits by CPU model.
#include "arch/msr_map.h"

#include <algorithm>

#include "arch/cpu_model.h"
#include "arch/linear.h"
#include "arch/msrs.h"

namespace zs::arch {

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

constexpr std::uint64_t low_bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

// How many there are.
unsigned one(const CpuModel&) { return 1; }
unsigned one_from_version_4(const CpuModel& m) { return m.perfmon_version >= 4 ? 1 : 0; }
unsigned general_counters(const CpuModel& m) { return m.general_counters; }
unsigned full_width_counters(const CpuModel& m) {
  return m.capabilities.has(PerfCapabilities::full_width) ? m.general_counters : 0;
}
unsigned fixed_counters(const CpuModel& m) { return m.fixed_counters; }
unsigned lbr_entries(const CpuModel& m) { return m.lbr_entries; }
unsigned lbr_infos(const CpuModel& m) { return m.lbr_format() == LbrFormat::Info ? m.lbr_entries : 0; }

// What software may set.
std::uint64_t none(const CpuModel&, unsigned) { return 0; }
std::uint64_t all(const CpuModel&, unsigned) { return kAll; }
std::uint64_t low_32(const CpuModel&, unsigned) { return low_bits(32); }
std::uint64_t general_width(const CpuModel& m, unsigned) { return low_bits(m.general_width); }
std::uint64_t fixed_width(const CpuModel& m, unsigned) { return low_bits(m.fixed_width); }
std::uint64_t counter_bits(const CpuModel& m, unsigned) { return m.counters().bits; }
std::uint64_t pebs_bits(const CpuModel& m, unsigned) { return m.pebs_counters.bits; }

std::uint64_t select_bits(const CpuModel& m, unsigned index) {
  std::uint64_t bits = PerfEvtSel::fields.mask & low_bits(32);
  if (m.perfmon_version < 3) bits &= ~PerfEvtSel::any.mask;
  if (m.transactions) bits |= PerfEvtSel::in_tx.mask;
  if (m.transactions && index == 2) bits |= PerfEvtSel::in_txcp.mask;
  return bits;
}

std::uint64_t fixed_control_bits(const CpuModel& m, unsigned) {
  std::uint64_t bits = FixedCtrCtrl::fields.mask & low_bits(4 * m.fixed_counters);
  if (m.perfmon_version < 3) bits &= ~FixedCtrCtrl::any.mask;
  return bits;
}

// GLOBAL_STATUS bits that software may clear; bits of facilities that do not exist are reserved.
std::uint64_t status_bits(const CpuModel& m, unsigned) {
  std::uint64_t bits =
      m.counters().bits | GlobalStatus::uncore.mask | GlobalStatus::buffer.mask | GlobalStatus::condition.mask;
  if (m.perfmon_version >= 4) {
    bits |= GlobalStatus::lbr_frozen.mask | GlobalStatus::counters_frozen.mask | GlobalStatus::asci.mask;
  }
  return bits;
}

std::uint64_t settable_status_bits(const CpuModel& m, unsigned index) {
  return status_bits(m, index) & ~GlobalStatus::condition.mask;
}

// BTS and single-stepping on branches do not exist yet, nor does an uncore PMU.
std::uint64_t debugctl_bits(const CpuModel& m, unsigned) {
  std::uint64_t bits = DebugCtl::lbr.mask | DebugCtl::freeze_lbrs.mask | DebugCtl::freeze_perfmon.mask;
  if (m.capabilities.has(PerfCapabilities::smm_freeze)) bits |= DebugCtl::freeze_in_smm.mask;
  return bits;
}

std::uint64_t lbr_select_bits(const CpuModel& m, unsigned) {
  return m.lbr_call_stack ? LbrSelect::fields.mask : LbrSelect::fields.mask & ~LbrSelect::call_stack.mask;
}
std::uint64_t lbr_tos_bits(const CpuModel& m, unsigned) { return m.lbr_entries - 1U; }
std::uint64_t lbr_info_bits(const CpuModel&, unsigned) { return LbrInfo::fields.mask; }

using enum MsrAccess;
using enum MsrValue;

// clang-format off
constexpr MsrFact kFacts[] = {
    // name, first, how many of them, bits that software may set, access, value
    {Msr::GeneralCounter,   "IA32_PMC",                    GeneralCounter::msrs.first,
     general_counters,    low_32,               ReadWrite,   Truncated},
    {Msr::PerfEvtSel,       "IA32_PERFEVTSEL",             PerfEvtSel::msrs.first,
     general_counters,    select_bits,          ReadWrite,   Bits},
    {Msr::MiscEnable,       "IA32_MISC_ENABLE",            MiscEnable::msrs.first,
     one,                 none,                 ReadOnly,    Bits},
    {Msr::LbrSelect,        "MSR_LBR_SELECT",              LbrSelect::msrs.first,
     one,                 lbr_select_bits,      ReadWrite,   Bits},
    {Msr::LbrTos,           "MSR_LASTBRANCH_TOS",          LbrTos::msrs.first,
     one,                 lbr_tos_bits,         ReadWrite,   Bits},
    {Msr::DebugCtl,         "IA32_DEBUGCTL",               DebugCtl::msrs.first,
     one,                 debugctl_bits,        ReadWrite,   Bits},
    {Msr::FixedCounter,     "IA32_FIXED_CTR",              FixedCounter::msrs.first,
     fixed_counters,      fixed_width,          ReadWrite,   Truncated},
    {Msr::PerfCapabilities, "IA32_PERF_CAPABILITIES",      PerfCapabilities::msrs.first,
     one,                 none,                 ReadOnly,    Bits},
    {Msr::FixedCtrCtrl,     "IA32_FIXED_CTR_CTRL",         FixedCtrCtrl::msrs.first,
     one,                 fixed_control_bits,   ReadWrite,   Bits},
    {Msr::GlobalStatus,     "IA32_PERF_GLOBAL_STATUS",     GlobalStatus::msrs.first,
     one,                 none,                 ReadOnly,    Bits},
    {Msr::GlobalCtrl,       "IA32_PERF_GLOBAL_CTRL",       GlobalCtrl::msrs.first,
     one,                 counter_bits,         ReadWrite,   Bits},
    {Msr::GlobalOvfCtrl,    "IA32_PERF_GLOBAL_OVF_CTRL",   GlobalOvfCtrl::msrs.first,
     one,                 status_bits,          WriteClears, Bits},
    {Msr::GlobalStatusSet,  "IA32_PERF_GLOBAL_STATUS_SET", GlobalStatusSet::msrs.first,
     one_from_version_4,  settable_status_bits, WriteSets,   Bits},
    {Msr::GlobalInUse,      "IA32_PERF_GLOBAL_INUSE",      GlobalInUse::msrs.first,
     one_from_version_4,  none,                 ReadOnly,    Bits},
    {Msr::PebsEnable,       "IA32_PEBS_ENABLE",            PebsEnable::msrs.first,
     one,                 pebs_bits,            ReadWrite,   Bits},
    {Msr::FullWidthCounter, "IA32_A_PMC",                  FullWidthCounter::msrs.first,
     full_width_counters, general_width,        ReadWrite,   Bits},
    {Msr::DsArea,           "IA32_DS_AREA",                DsArea::msrs.first,
     one,                 all,                  ReadWrite,   Linear},
    {Msr::LbrFrom,          "MSR_LASTBRANCH_FROM_IP",      LbrFrom::msrs.first,
     lbr_entries,         all,                  ReadWrite,   LbrFrom},
    {Msr::LbrTo,            "MSR_LASTBRANCH_TO_IP",        LbrTo::msrs.first,
     lbr_entries,         all,                  ReadWrite,   Linear},
    {Msr::LbrInfo,          "MSR_LBR_INFO",                LbrInfo::msrs.first,
     lbr_infos,           lbr_info_bits,        ReadWrite,   Bits},
};
// clang-format on
static_assert(std::ranges::is_sorted(kFacts, {}, &MsrFact::first));

// LBR_FMT 4 on a processor without transactions takes their two flag bits for part of the address.
bool is_lbr_from(const CpuModel& m, std::uint64_t value) {
  std::uint64_t flags = lbr_from_flags(m.lbr_format());
  if (!m.transactions) flags &= ~(kLbrInTx | kLbrTxAbort);
  const bool negative = (value >> 47 & 1) != 0;
  return is_canonical(negative ? value | flags : value & ~flags);
}

}  // namespace

std::span<const MsrFact> msr_facts() { return kFacts; }

bool is_pmu_msr(std::uint32_t address) {
  return std::ranges::any_of(cpu_models(), [&](const CpuModel& model) { return find_msr(model, address).has_value(); });
}

std::optional<MsrRef> find_msr(const CpuModel& model, std::uint32_t address) {
  for (const MsrFact& fact : kFacts) {
    if (address < fact.first) break;
    const std::uint32_t index = address - fact.first;
    if (index < fact.count(model)) return MsrRef{&fact, index};
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
  }
  return false;
}

}  // namespace zs::arch
