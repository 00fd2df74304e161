// A processor as its PMU presents it: how many counters of which width, which registers and record formats, which
// events. A row is fixed, named and versioned ("skylake-server@1"): a number that changes makes a new version, so a
// recording can be repeated. It is never filled in from the host.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "arch/counter_set.h"
#include "arch/events/event.h"
#include "arch/msrs.h"
#include "arch/quirks.h"
#include "arch/records/data_source.h"
#include "arch/records/lbr.h"
#include "arch/records/pebs.h"

namespace zs::arch {

/// Whose registers and event codes a processor has.
enum class Vendor : std::uint8_t { Intel, Amd };

/// What FREEZE_PERFMON_ON_PMI and FREEZE_LBRS_ON_PMI do when a PMI is requested.
enum class FreezeKind : std::uint8_t {
  Legacy,       // clears IA32_PERF_GLOBAL_CTRL, or DEBUGCTL.LBR
  Streamlined,  // sets CTR_Frz, or LBR_Frz, in IA32_PERF_GLOBAL_STATUS; AMD's set the same bits of their status
  None,         // DEBUGCTL has no such bit; AMD's LBRs alone
};

/// Which counters one PEBS assist reloads and whose overflow bits it clears.
enum class PebsServes : std::uint8_t {
  Overflowed,  // every PEBS counter that has overflowed, whether or not this instruction triggered it
  Applicable,  // those that this record is of: the record's "applicable counters"
};

/// Where the last-branch records are, and how they are filtered.
enum class LbrKind : std::uint8_t {
  Small,          // MSRs 40H and 60H, a TOS, no filter: Core 2
  Stack,          // MSRs 680H and 6C0H, a TOS, MSR_LBR_SELECT
  Architectural,  // MSRs 1500H and 1600H, the newest record first, IA32_LBR_CTL
  Amd,            // MSRs C001'0300H and C001'0301H in turn, the newest record first, LbrSelect, DbgExtnCfg
  None,
};

/// What most processors have: records of PEBS are trap-like and hold registers, counters freeze in SMM, and all of
/// their bits can be written. The formats of LBRs and records differ.
inline constexpr PerfCapabilities kUsualCapabilities = PerfCapabilities{}
                                                           .with(PerfCapabilities::pebs_trap, 1)
                                                           .with(PerfCapabilities::pebs_regs, 1)
                                                           .with(PerfCapabilities::smm_freeze, 1)
                                                           .with(PerfCapabilities::full_width, 1);

struct CpuModel {
  std::string_view name;         // NAME@VERSION
  std::string_view description;  // for people
  std::uint32_t signature;       // CPUID.1:EAX
  Vendor vendor = Vendor::Intel;

  std::uint8_t perfmon_version;  // of architectural performance monitoring; AMD's PerfMonV2: 2
  std::uint8_t general_counters;
  std::uint8_t general_width;  // bits
  std::uint8_t fixed_counters;
  std::uint8_t fixed_width;
  std::uint32_t absent_architectural_events = 0;  // CPUID.0AH:EBX
  PerfCapabilities capabilities;

  CounterSet pebs_counters;          // IA32_PEBS_ENABLE has a bit for these
  CounterSet distribution_counters;  // on which a Precise::Distribution event records the overflowing instruction
  CounterSet exact_counters{};       // on which every precise event does ("PDist")
  PebsServes pebs_serves;
  bool pebs_of_any_event = false;  // an event that is not precise is recorded at the overflow, not at the next event
  bool load_latency = false;       // the load-latency facility, MSR_PEBS_LD_LAT
  bool precise_store = false;      // the precise-store facility, MSR_PEBS_ENABLE[63], on PMC3
  DataSourceFormat data_source = DataSourceFormat::None;
  bool store_latency = false;  // an event CDH/02H whose records have a store's latency and place
  std::uint8_t reset_slots;    // of the DS management area, for general counters

  std::uint8_t lbr_entries;  // a power of two; LbrKind::None: 1, which nobody can read
  LbrKind lbr_kind = LbrKind::Stack;
  std::uint8_t lbr_depths = 0;  // architectural LBRs: bit n, a depth of 8 * (n + 1)
  bool lbr_call_stack;          // LBR_SELECT.EN_CALLSTACK
  FreezeKind counter_freeze, lbr_freeze;
  bool transactions;        // HLE or RTM
  bool uncore_pmi = false;  // DEBUGCTL.UNCORE_PMI_EN

  // What their registers take; 0: the register does not exist.
  std::uint64_t frontend_bits = 0;     // MSR_PEBS_FRONTEND
  std::uint8_t offcore_registers = 0;  // MSR_OFFCORE_RSP_0, _1
  std::uint64_t offcore_bits = 0;

  std::uint8_t metrics_fields = 0;  // MSR_PERF_METRICS: how many of its bytes mean something

  bool x2apic = true;        // CPUID.1:ECX[21]
  bool tsc_deadline = true;  // CPUID.1:ECX[24]: the APIC timer can wait for a time-stamp count

  RetiredAccesses retired_accesses{};

  QuirkSet quirks{};  // those that are part of it

  std::span<const Event> (*events)();

  constexpr bool has_pebs() const { return !pebs_counters.empty(); }
  constexpr bool has_lbr() const { return lbr_kind != LbrKind::None; }
  /// Whether software can write all bits of a general counter.
  constexpr bool full_width_writes() const {
    return vendor == Vendor::Amd || capabilities.has(PerfCapabilities::full_width);
  }
  constexpr CounterSet counters() const { return any_of(general_counters) | all_fixed(fixed_counters); }
  constexpr bool pebs_baseline() const { return capabilities.has(PerfCapabilities::pebs_baseline); }
  constexpr PebsFormat pebs_format() const {
    return static_cast<PebsFormat>(capabilities.get(PerfCapabilities::pebs_format));
  }
  constexpr LbrFormat lbr_format() const {
    if (lbr_kind == LbrKind::Amd) return LbrFormat::Amd;
    return static_cast<LbrFormat>(capabilities.get(PerfCapabilities::lbr_format));
  }
  /// Slot of FIXED_CTR0 in the DS management area, with PEBS baseline.
  constexpr unsigned fixed_reset_slot() const { return traits(pebs_format()).fixed_reset_slot; }
  /// CPUID.1:ECX.DTES64.
  constexpr bool ds_64() const { return !quirks.has(Quirk::Ds32); }
  /// What IA32_PERF_GLOBAL_CTRL enables after RESET: the general counters, so that software which knows only PERFEVTSEL
  /// can count.
  /// source: SDM from March 2023, table "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT"; older
  /// editions say 0.
  constexpr CounterSet enabled_at_reset() const {
    return quirks.has(Quirk::GlobalCtrlStartsAt0) ? CounterSet{} : any_of(general_counters);
  }
  constexpr bool any_thread() const { return perfmon_version == 3 || perfmon_version == 4; }
  /// EVENT and UMASK of a select register.
  constexpr std::uint64_t code_bits() const {
    const std::uint64_t high = vendor == Vendor::Amd ? PerfCtl::event_high.mask : 0;
    return PerfEvtSel::event.mask | PerfEvtSel::umask.mask | high;
  }
};

/// Facts that must hold of every row.
constexpr bool is_consistent(const CpuModel& m) {
  const std::size_t at = m.name.find('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == m.name.size()) return false;
  if (m.perfmon_version < 2 || m.perfmon_version > 5) return false;  // what arch/msr_map.h knows
  if (m.general_counters == 0 || m.general_counters > GeneralCounter::msrs.count) return false;
  if (m.fixed_counters > FixedCounter::msrs.count) return false;
  for (const unsigned width : {m.general_width, m.fixed_counters != 0 ? m.fixed_width : m.general_width}) {
    if (width <= 32 || width >= 64) return false;  // a sign-extended 32-bit write must fit
  }
  if (!is_pebs_format(m.pebs_format())) return false;
  if (m.pebs_baseline() != is_adaptive(m.pebs_format())) return false;  // no basic-only format 4 is modelled
  if (!m.pebs_counters.subset_of(m.counters())) return false;
  if (!m.pebs_baseline() && !m.pebs_counters.subset_of(any_of(4))) return false;
  if (!(m.distribution_counters | m.exact_counters).subset_of(m.pebs_counters)) return false;
  if (!m.pebs_counters.general().subset_of(any_of(m.reset_slots))) return false;
  if (m.fixed_reset_slot() < m.reset_slots && m.pebs_baseline()) return false;
  if (m.has_pebs() != m.capabilities.has(PerfCapabilities::pebs_trap))
    return false;  // no fault-like record is modelled
  if (m.vendor == Vendor::Amd && (m.perfmon_version != 2 || m.fixed_counters != 0 || m.capabilities.raw() != 0)) {
    return false;
  }
  if (m.load_latency && m.perfmon_version < 5 && m.pebs_counters.empty()) return false;
  if (m.load_latency != (m.data_source != DataSourceFormat::None)) return false;
  if (m.store_latency && (m.precise_store || !m.load_latency)) return false;
  if (m.precise_store && (m.pebs_baseline() || !m.pebs_counters.has(3))) return false;
  if (m.capabilities.has(PerfCapabilities::metrics) != (m.metrics_fields != 0) || m.metrics_fields > 8) return false;
  if (m.metrics_fields != 0 && m.fixed_counters < 4) return false;  // FIXED_CTR3 is their base
  if (!std::has_single_bit(m.lbr_entries) || m.lbr_entries > LbrFrom::msrs.count) return false;
  switch (m.lbr_kind) {
    case LbrKind::Small:
      if (m.lbr_entries > SmallLbrFrom::msrs.count || has_info(m.lbr_format())) return false;
      break;
    case LbrKind::Stack:
      if (m.lbr_format() < LbrFormat::Flags || m.lbr_format() > LbrFormat::Cycles) return false;
      break;
    case LbrKind::Architectural:
      if (m.lbr_format() != LbrFormat::Architectural || (m.lbr_depths >> (m.lbr_entries / 8 - 1) & 1) == 0)
        return false;
      break;
    case LbrKind::Amd:
      if (m.vendor != Vendor::Amd || m.lbr_call_stack) return false;
      break;
    case LbrKind::None:
      if (m.lbr_entries != 1 || m.capabilities.has(PerfCapabilities::lbr_format)) return false;
      break;
  }
  const bool streamlined = m.counter_freeze == FreezeKind::Streamlined || m.lbr_freeze == FreezeKind::Streamlined;
  if (streamlined && m.perfmon_version < 4 && m.vendor == Vendor::Intel) return false;
  if (m.lbr_freeze == FreezeKind::None && m.vendor == Vendor::Intel) return false;
  if ((m.offcore_registers == 0) != (m.offcore_bits == 0) || m.offcore_registers > 2) return false;
  // `events` is not looked at: g++ with UBSan takes no comparison of a function with null for a constant.
  return !m.description.empty();
}

/// Where a model's last-branch records are read.
struct LbrRegisters {
  std::uint32_t from, to, info;  // the first MSR of each kind; info: 0 if there is none
  bool newest_first;             // record 0 is the newest; otherwise MSR_LASTBRANCH_TOS names it
  std::uint32_t stride = 1;      // from one of a kind to the next
};
constexpr LbrRegisters lbr_registers(const CpuModel& m) {
  switch (m.lbr_kind) {
    case LbrKind::Small: return {SmallLbrFrom::msrs[0], SmallLbrTo::msrs[0], 0, false};
    case LbrKind::Stack:
    case LbrKind::None: break;
    case LbrKind::Architectural: return {ArchLbrFrom::msrs[0], ArchLbrTo::msrs[0], ArchLbrInfo::msrs[0], true};
    case LbrKind::Amd: return {kAmdLbrFrom, kAmdLbrTo, 0, true, 2};
  }
  return {LbrFrom::msrs[0], LbrTo::msrs[0], has_info(m.lbr_format()) ? LbrInfo::msrs[0] : 0, false};
}

/// Where software finds what every PMU has: the addresses of its MSRs.
struct CounterRegisters {
  std::uint32_t control, status, status_clear;  // of all counters
  std::uint32_t first_select, first_value;      // of general counter 0; the widest form
  std::uint32_t stride;                         // from one general counter to the next

  constexpr std::uint32_t select(unsigned counter) const { return first_select + stride * counter; }
  constexpr std::uint32_t value(unsigned counter) const { return first_value + stride * counter; }
};
constexpr CounterRegisters counter_registers(const CpuModel& m) {
  if (m.vendor == Vendor::Amd) return {kAmdGlobalCtl, kAmdGlobalStatus, kAmdGlobalStatusClr, kPerfCtl, kPerfCtr, 2};
  const std::uint32_t value = m.full_width_writes() ? FullWidthCounter::msrs[0] : GeneralCounter::msrs[0];
  return {GlobalCtrl::msrs[0], GlobalStatus::msrs[0], GlobalOvfCtrl::msrs[0], PerfEvtSel::msrs[0], value, 1};
}

/// The model with what these quirks change of it. `quirks` then says all of them.
CpuModel with_quirks(CpuModel model, QuirkSet quirks);

struct CpuidLeaf {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// What CPUID.1:EAX says, family and model with their extensions.
/// source: SDM vol. 2A, "CPUID", figure "Version Information Returned by CPUID in EAX"; APM vol. 3, function
/// 0000_0001H.
struct Identity {
  std::uint32_t family, model, stepping;
  friend constexpr bool operator==(Identity, Identity) = default;
};
constexpr Identity identity(const CpuModel& m) {
  const std::uint32_t family = m.signature >> 8 & 0xF;
  return {.family = family == 0xF ? family + (m.signature >> 20 & 0xFF) : family,
          .model = (m.signature >> 4 & 0xF) | (m.signature >> 12 & 0xF0),
          .stepping = m.signature & 0xF};
}
/// As CPUID leaf 0 spells it.
constexpr std::string_view vendor_name(const CpuModel& m) {
  return m.vendor == Vendor::Amd ? "AuthenticAMD" : "GenuineIntel";
}

/// CPUID leaf 0AH, "Architectural Performance Monitoring". Not of AMD's.
constexpr CpuidLeaf perfmon_leaf(const CpuModel& m) {
  constexpr std::uint32_t kAnyThreadDeprecated = 1U << 15;
  const bool version_5 = m.perfmon_version >= 5;
  const std::uint32_t listed_events = version_5 ? 8 : 7;  // length of the EBX vector; the eighth is topdown slots
  return {.eax = m.perfmon_version | std::uint32_t{m.general_counters} << 8 | std::uint32_t{m.general_width} << 16 |
                 listed_events << 24,
          .ebx = m.absent_architectural_events,
          .ecx = version_5 ? (1U << m.fixed_counters) - 1 : 0,
          .edx = m.fixed_counters | std::uint32_t{m.fixed_width} << 5 | (version_5 ? kAnyThreadDeprecated : 0)};
}

inline constexpr std::string_view kDefaultCpuModel = "skylake-server@1";

/// Every row, sorted by name.
std::span<const CpuModel> cpu_models();

/// "skylake-server@1", or "skylake-server" for its newest version; null if there is none.
const CpuModel* find_cpu_model(std::string_view name);

/// The row named by kDefaultCpuModel.
const CpuModel& default_cpu_model();

}  // namespace zs::arch
