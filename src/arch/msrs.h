// The registers of the performance-monitoring unit. Which of them exist, and which bits software may set, depends on
// the CPU model: arch/msr_map.h.
// source: SDM vol. 3B, chapters "Debug, Branch Profile, TSC, and Resource Monitoring Features" and "Performance
// Monitoring"; titles of figures and tables are named at each register. Of AMD's, at the end: APM vol. 2, "Performance
// Monitoring Counters", and the PPR of family 19H model 61H.
#pragma once

#include "arch/counter_set.h"
#include "arch/register.h"

namespace zs::arch {

/// IA32_PERFEVTSELx: what a general-purpose counter counts, and in which rings.
/// source: "Layout of IA32_PERFEVTSELx MSRs Supporting Architectural Performance Monitoring Version 3"; IN_TX and
/// IN_TXCP: "Performance Monitoring and Intel TSX".
struct PerfEvtSel : Register64<PerfEvtSel> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x186, .count = 8};
  static constexpr Bits<7, 0> event{"EVENT"};
  static constexpr Bits<15, 8> umask{"UMASK"};
  static constexpr Bits<16> user{"USR"};       // count at CPL 1, 2, 3
  static constexpr Bits<17> kernel{"OS"};      // count at CPL 0
  static constexpr Bits<18> edge{"E"};         // count only where the condition becomes true
  static constexpr Bits<19> pin{"PC"};         // toggles a pin; nothing to see here
  static constexpr Bits<20> interrupt{"INT"};  // PMI on overflow
  static constexpr Bits<21> any{"ANY"};        // both hyper-threads, perfmon 3 and 4
  static constexpr Bits<22> enable{"EN"};
  static constexpr Bits<23> invert{"INV"};  // occurrences < CMASK; without meaning while CMASK is 0
  static constexpr Bits<31, 24> cmask{"CMASK"};
  static constexpr Bits<32> in_tx{"IN_TX"};        // only inside a transactional region
  static constexpr Bits<33> in_txcp{"IN_TXCP"};    // not what an aborted transaction did; PMC2 only
  static constexpr Bits<34> adaptive{"ADAPTIVE"};  // its PEBS records have the groups of MSR_PEBS_DATA_CFG; baseline
  static constexpr auto fields = field_list(event, umask, user, kernel, edge, pin, interrupt, any, enable, invert,
                                            cmask, in_tx, in_txcp, adaptive);
};
/// EVENT and UMASK of a select register. `event` has 12 bits on AMD's processors, whose upper four lie at 35:32
/// (PerfCtl).
constexpr PerfEvtSel select_code(std::uint16_t event, std::uint8_t umask) {
  return PerfEvtSel{(std::uint64_t{event} & 0xFF) | std::uint64_t{umask} << 8 | std::uint64_t{event} >> 8 << 32};
}
static_assert(PerfEvtSel{}
                  .with(PerfEvtSel::event, 0xD1)
                  .with(PerfEvtSel::umask, 0x20)
                  .with(PerfEvtSel::user, 1)
                  .with(PerfEvtSel::enable, 1)
                  .raw() == 0x41'20D1);

/// IA32_FIXED_CTR_CTRL: four bits per fixed counter, and with PEBS baseline one more above.
/// source: "Layout of IA32_FIXED_CTR_CTRL MSR Supporting Architectural Performance Monitoring Version 3".
struct FixedCtrCtrl : Register64<FixedCtrCtrl> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x38D};
  static constexpr BitOfEach<0, 4, 4> kernel{"OS"};
  static constexpr BitOfEach<1, 4, 4> user{"USR"};
  static constexpr BitOfEach<2, 4, 4> any{"ANY"};
  static constexpr BitOfEach<3, 4, 4> interrupt{"PMI"};
  static constexpr BitOfEach<32, 4, 4> adaptive{"ADAPTIVE"};
  static constexpr auto fields = field_list(kernel, user, any, interrupt, adaptive);
};

/// IA32_PERF_GLOBAL_CTRL: a counter runs only if its bit is set here too.
/// source: "Layout of IA32_PERF_GLOBAL_CTRL MSR".
struct GlobalCtrl : Register64<GlobalCtrl> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x38F};
  static constexpr Bits<7, 0> general{"PMC"};
  static constexpr Bits<35, 32> fixed{"FIXED_CTR"};
  static constexpr Bits<48> metrics{"PERF_METRICS"};
  static constexpr auto fields = field_list(general, fixed, metrics);
};

/// IA32_PERF_GLOBAL_STATUS. Sticky: reading it and taking the PMI clear nothing.
/// source: "IA32_PERF_GLOBAL_STATUS MSR and Architectural Perfmon Version 4". One printing of it names bit 58 ASCI;
/// drivers use 58 LBR_Frz, 59 CTR_Frz, 60 ASCI.
struct GlobalStatus : Register64<GlobalStatus> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x38E};
  static constexpr Bits<7, 0> general{"Ovf_PMC"};
  static constexpr Bits<35, 32> fixed{"Ovf_FIXED_CTR"};
  static constexpr Bits<48> metrics{"Ovf_PERF_METRICS"};
  static constexpr Bits<55> trace_topa{"TraceToPAPMI"};
  static constexpr Bits<58> lbr_frozen{"LBR_Frz"};
  static constexpr Bits<59> counters_frozen{"CTR_Frz"};
  static constexpr Bits<60> asci{"ASCI"};
  static constexpr Bits<61> uncore{"Ovf_Uncore"};
  static constexpr Bits<62> buffer{"OvfBuf"};  // the PEBS index has reached its threshold
  static constexpr Bits<63> condition{"CondChgd"};
  static constexpr auto fields =
      field_list(general, fixed, metrics, trace_topa, lbr_frozen, counters_frozen, asci, uncore, buffer, condition);
};

/// IA32_PERF_GLOBAL_OVF_CTRL, from perfmon 4 on IA32_PERF_GLOBAL_STATUS_RESET: a 1 clears that status bit.
struct GlobalOvfCtrl {
  static constexpr MsrBlock msrs{.first = 0x390};
};
/// IA32_PERF_GLOBAL_STATUS_SET: a 1 sets that status bit.
struct GlobalStatusSet {
  static constexpr MsrBlock msrs{.first = 0x391};
};

/// IA32_PERF_GLOBAL_INUSE: what some agent has programmed. Computed at each read.
/// source: "IA32_PERF_GLOBAL_INUSE MSR and Architectural Perfmon Version 4" (running text gives PMI as bit 32; the
/// table's 63 is used).
struct GlobalInUse : Register64<GlobalInUse> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x392};
  static constexpr Bits<7, 0> general{"PERFEVTSEL"};
  static constexpr Bits<35, 32> fixed{"FIXED_CTR"};
  static constexpr Bits<63> pmi{"PMI"};
  static constexpr auto fields = field_list(general, fixed, pmi);
};

/// IA32_PERF_CAPABILITIES: a constant of the CPU model.
/// source: "Layout of IA32_PERF_CAPABILITIES MSR".
struct PerfCapabilities : Register64<PerfCapabilities> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x345};
  static constexpr Bits<5, 0> lbr_format{"LBR_FMT"};
  static constexpr Bits<6> pebs_trap{"PEBS_TRAP"};      // the record is taken after the instruction
  static constexpr Bits<7> pebs_regs{"PEBS_ARCH_REG"};  // general registers are in the record
  static constexpr Bits<11, 8> pebs_format{"PEBS_FMT"};
  static constexpr Bits<12> smm_freeze{"SMM_FREEZE"};
  static constexpr Bits<13> full_width{"FULL_WRITE"};  // IA32_A_PMCx exist
  static constexpr Bits<14> pebs_baseline{"PEBS_BASELINE"};
  static constexpr Bits<15> metrics{"PERF_METRICS"};
  static constexpr Bits<16> pebs_to_trace{"PEBS_OUTPUT_PT"};
  static constexpr auto fields = field_list(lbr_format, pebs_trap, pebs_regs, pebs_format, smm_freeze, full_width,
                                            pebs_baseline, metrics, pebs_to_trace);
};

/// IA32_PEBS_ENABLE. Nehalem to Skylake: bit n for PMCn and bit 32+n for its load latency. With PEBS baseline the
/// counters at their bits of GLOBAL_CTRL, so that bit 32 is FIXED_CTR0's.
/// source: "Layout of IA32_PEBS_ENABLE MSR".
struct PebsEnable : Register64<PebsEnable> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x3F1};
  static constexpr Bits<7, 0> pebs{"PEBS_EN_PMC"};
  static constexpr Bits<35, 32> load_latency{"LL_EN_PMC"};
  static constexpr Bits<63> precise_store{"PS_EN"};
  static constexpr auto fields = field_list(pebs, load_latency, precise_store);
};

/// MSR_PEBS_DATA_CFG: the groups of an adaptive PEBS record.
/// source: "MSR_PEBS_CFG Programming", Ice Lake's "Adaptive PEBS".
struct PebsDataCfg : Register64<PebsDataCfg> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x3F2};
  static constexpr Bits<0> memory{"MEM"};
  static constexpr Bits<1> gprs{"GPR"};
  static constexpr Bits<2> xmms{"XMM"};
  static constexpr Bits<3> lbrs{"LBR"};
  static constexpr Bits<31, 24> lbr_entries{"LBR_ENTRIES"};  // minus 1
  static constexpr auto fields = field_list(memory, gprs, xmms, lbrs, lbr_entries);
};

/// MSR_PEBS_LD_LAT: a tagged load counts if it took more core cycles than this.
struct LoadLatency : Register64<LoadLatency> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x3F6};
  static constexpr Bits<15, 0> threshold{"THRESHOLD"};
  static constexpr auto fields = field_list(threshold);
};

/// MSR_PEBS_FRONTEND, MSR_OFFCORE_RSP_0 and _1: what FRONTEND_RETIRED and the off-core events ask for besides. Which
/// bits mean something is the CPU model's; the events themselves are not modelled.
struct PebsFrontend {
  static constexpr MsrBlock msrs{.first = 0x3F7};
};
struct OffcoreResponse {
  static constexpr MsrBlock msrs{.first = 0x1A6, .count = 2};
};

/// MSR_PERF_METRICS: shares of the issue slots in FIXED_CTR3, a byte each, FFH for all of them. The upper four are
/// parts of the lower four, from Sapphire Rapids on.
/// source: Ice Lake's "Performance Metrics", figure "MSR_PERF_METRICS Definition".
struct PerfMetrics : Register64<PerfMetrics> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x329};
  static constexpr Bits<7, 0> retiring{"RETIRING"};
  static constexpr Bits<15, 8> bad_speculation{"BAD_SPECULATION"};
  static constexpr Bits<23, 16> frontend_bound{"FRONTEND_BOUND"};
  static constexpr Bits<31, 24> backend_bound{"BACKEND_BOUND"};
  static constexpr Bits<39, 32> heavy_operations{"HEAVY_OPERATIONS"};
  static constexpr Bits<47, 40> branch_mispredict{"BRANCH_MISPREDICT"};
  static constexpr Bits<55, 48> fetch_latency{"FETCH_LATENCY"};
  static constexpr Bits<63, 56> memory_bound{"MEMORY_BOUND"};
  static constexpr auto fields = field_list(retiring, bad_speculation, frontend_bound, backend_bound, heavy_operations,
                                            branch_mispredict, fetch_latency, memory_bound);
};

/// IA32_DS_AREA: linear address of the Debug Store management area (arch/records/ds_area.h).
struct DsArea {
  static constexpr MsrBlock msrs{.first = 0x600};
};

/// IA32_MISC_ENABLE: only what tells software which performance-monitoring facilities there are. The rest of the
/// register belongs to the machine around the PMU.
struct MiscEnable : Register64<MiscEnable> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x1A0};
  static constexpr Bits<7> monitoring{"EMON"};
  static constexpr Bits<11> no_bts{"BTS_UNAVAIL"};
  static constexpr Bits<12> no_pebs{"PEBS_UNAVAIL"};
  static constexpr auto fields = field_list(monitoring, no_bts, no_pebs);
};

/// IA32_DEBUGCTL.
/// source: "IA32_DEBUGCTL MSR for Processors Based on Intel Microarchitecture Code Name Nehalem".
struct DebugCtl : Register64<DebugCtl> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x1D9};
  static constexpr Bits<0> lbr{"LBR"};
  static constexpr Bits<1> btf{"BTF"};
  static constexpr Bits<6> tr{"TR"};
  static constexpr Bits<7> bts{"BTS"};
  static constexpr Bits<8> btint{"BTINT"};
  static constexpr Bits<9> bts_off_os{"BTS_OFF_OS"};
  static constexpr Bits<10> bts_off_usr{"BTS_OFF_USR"};
  static constexpr Bits<11> freeze_lbrs{"FREEZE_LBRS_ON_PMI"};
  static constexpr Bits<12> freeze_perfmon{"FREEZE_PERFMON_ON_PMI"};
  static constexpr Bits<13> uncore_pmi{"UNCORE_PMI_EN"};
  static constexpr Bits<14> freeze_in_smm{"FREEZE_WHILE_SMM_EN"};
  static constexpr Bits<15> rtm{"RTM"};
  static constexpr auto fields = field_list(lbr, btf, tr, bts, btint, bts_off_os, bts_off_usr, freeze_lbrs,
                                            freeze_perfmon, uncore_pmi, freeze_in_smm, rtm);
};

/// MSR_LBR_SELECT: a 1 keeps that kind of branch out of the LBR stack, except EN_CALLSTACK.
/// source: "MSR_LBR_SELECT for Intel Microarchitecture Code Name Haswell".
struct LbrSelect : Register64<LbrSelect> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x1C8};
  static constexpr Bits<0> to_kernel{"CPL_EQ_0"};  // branches that end in ring 0
  static constexpr Bits<1> to_user{"CPL_NEQ_0"};   // branches that end in another ring
  static constexpr Bits<2> conditional{"JCC"};
  static constexpr Bits<3> relative_call{"NEAR_REL_CALL"};
  static constexpr Bits<4> indirect_call{"NEAR_IND_CALL"};
  static constexpr Bits<5> near_return{"NEAR_RET"};
  static constexpr Bits<6> indirect_jump{"NEAR_IND_JMP"};
  static constexpr Bits<7> relative_jump{"NEAR_REL_JMP"};
  static constexpr Bits<8> far_branch{"FAR_BRANCH"};
  static constexpr Bits<9> call_stack{"EN_CALLSTACK"};  // calls push, returns pop; Haswell and later
  static constexpr auto fields = field_list(to_kernel, to_user, conditional, relative_call, indirect_call, near_return,
                                            indirect_jump, relative_jump, far_branch, call_stack);
};

/// DbgExtnCfg of AMD: of its bits, the enable of the last-branch stack.
/// source: Linux, DBG_EXTN_CFG_LBRV2EN. chosen: the others are reserved here and start at 0.
struct DbgExtnCfg : Register64<DbgExtnCfg> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC000'010F;
  static constexpr Bits<6> lbr_stack{"LbrV2En"};
  static constexpr auto fields = field_list(lbr_stack);
};

/// AMD's last-branch stack: LbrSelect, which has the bits of MSR_LBR_SELECT up to FAR_BRANCH; SampBrFrom and SampBrTo
/// in turn, the newest first.
inline constexpr std::uint32_t kAmdLbrSelect = 0xC000'010E, kAmdLbrFrom = 0xC001'0300, kAmdLbrTo = kAmdLbrFrom + 1;

/// IA32_PMCx (a write takes 32 bits and extends the sign), IA32_A_PMCx (the same counters, full width), FIXED_CTRx.
struct GeneralCounter {
  static constexpr MsrBlock msrs{.first = 0xC1, .count = 8};
};
struct FullWidthCounter {
  static constexpr MsrBlock msrs{.first = 0x4C1, .count = 8};
};
struct FixedCounter {
  static constexpr MsrBlock msrs{.first = 0x309, .count = 4};
};

/// MSR_LASTBRANCH_TOS, MSR_LASTBRANCH_x_FROM_IP, _TO_IP, MSR_LBR_INFO_x (arch/records/lbr.h).
struct LbrTos {
  static constexpr MsrBlock msrs{.first = 0x1C9};
};
struct LbrFrom {
  static constexpr MsrBlock msrs{.first = 0x680, .count = 32};
};
struct LbrTo {
  static constexpr MsrBlock msrs{.first = 0x6C0, .count = 32};
};
/// Core 2 and the first Atoms have up to eight at other addresses.
struct SmallLbrFrom {
  static constexpr MsrBlock msrs{.first = 0x40, .count = 8};
};
struct SmallLbrTo {
  static constexpr MsrBlock msrs{.first = 0x60, .count = 8};
};

/// MSR_LBR_INFO_x, LBR formats 5 and 7, and IA32_LBR_x_INFO of architectural LBRs, which alone have the branch type.
/// source: "MSR_LBR_INFO_x"; "IA32_LBR_x_INFO MSR".
struct LbrInfo : Register64<LbrInfo> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0xDC0, .count = 32};
  static constexpr Bits<15, 0> cycles{"CYC_CNT"};  // since the previous branch in the stack
  static constexpr Bits<59, 56> type{"BR_TYPE"};
  static constexpr Bits<60> cycles_valid{"CYC_CNT_VALID"};
  static constexpr Bits<61> tx_abort{"TSX_ABORT"};
  static constexpr Bits<62> in_tx{"IN_TSX"};
  static constexpr Bits<63> mispredicted{"MISPRED"};
  static constexpr auto fields = field_list(cycles, type, cycles_valid, tx_abort, in_tx, mispredicted);
};

/// MSR_LER_FROM_LIP, MSR_LER_TO_LIP: the last branch before the last exception or interrupt; with architectural LBRs
/// also IA32_LER_INFO.
struct LerFrom {
  static constexpr MsrBlock msrs{.first = 0x1DD};
};
struct LerTo {
  static constexpr MsrBlock msrs{.first = 0x1DE};
};
struct LerInfo {
  static constexpr MsrBlock msrs{.first = 0x1E0};
};

/// IA32_LBR_CTL: a 1 enables, other than in MSR_LBR_SELECT.
/// source: "IA32_LBR_CTL MSR".
struct LbrCtl : Register64<LbrCtl> {
  using Register64::Register64;
  static constexpr MsrBlock msrs{.first = 0x14CE};
  static constexpr Bits<0> enable{"LBREn"};
  static constexpr Bits<1> kernel{"OS"};
  static constexpr Bits<2> user{"USR"};
  static constexpr Bits<3> call_stack{"CALL_STACK"};
  static constexpr Bits<16> conditional{"JCC"};
  static constexpr Bits<17> relative_jump{"NEAR_REL_JMP"};
  static constexpr Bits<18> indirect_jump{"NEAR_IND_JMP"};
  static constexpr Bits<19> relative_call{"NEAR_REL_CALL"};
  static constexpr Bits<20> indirect_call{"NEAR_IND_CALL"};
  static constexpr Bits<21> near_return{"NEAR_RET"};
  static constexpr Bits<22> other{"OTHER_BRANCH"};
  static constexpr auto fields = field_list(enable, kernel, user, call_stack, conditional, relative_jump, indirect_jump,
                                            relative_call, indirect_call, near_return, other);
};

/// IA32_LBR_DEPTH: how many records there are; one of those that CPUID.1CH lists. A write clears every record.
struct LbrDepth {
  static constexpr MsrBlock msrs{.first = 0x14CF};
};
struct ArchLbrInfo {
  static constexpr MsrBlock msrs{.first = 0x1200, .count = 32};
};
struct ArchLbrFrom {
  static constexpr MsrBlock msrs{.first = 0x1500, .count = 32};
};
struct ArchLbrTo {
  static constexpr MsrBlock msrs{.first = 0x1600, .count = 32};
};

/// PERF_CTLx of AMD's processors: IA32_PERFEVTSELx with more bits of EVENT, and neither PC nor ANY.
/// source: APM vol. 2, "Core Performance Event-Select Registers".
struct PerfCtl : Register64<PerfCtl> {
  using Register64::Register64;
  static constexpr Bits<7, 0> event{"EVENT"};
  static constexpr Bits<15, 8> umask{"UMASK"};
  static constexpr Bits<16> user{"USR"};   // CPL above 0
  static constexpr Bits<17> kernel{"OS"};  // CPL 0
  static constexpr Bits<18> edge{"E"};
  static constexpr Bits<20> interrupt{"INT"};
  static constexpr Bits<22> enable{"EN"};
  static constexpr Bits<23> invert{"INV"};
  static constexpr Bits<31, 24> cmask{"CMASK"};
  static constexpr Bits<35, 32> event_high{"EVENT_HIGH"};
  static constexpr Bits<41, 40> host_guest{"HG_ONLY"};  // of virtual machines: kept, without effect
  static constexpr auto fields =
      field_list(event, umask, user, kernel, edge, interrupt, enable, invert, cmask, event_high, host_guest);
};

/// PERF_CTLx and PERF_CTRx alternate. The first four are also at the addresses that older processors had, one kind
/// after the other.
inline constexpr std::uint32_t kPerfCtl = 0xC001'0200, kPerfCtr = 0xC001'0201;
inline constexpr std::uint32_t kLegacyPerfCtl = 0xC001'0000, kLegacyPerfCtr = 0xC001'0004;
inline constexpr unsigned kLegacyPerfCounters = 4;

/// PerfCntrGlobalStatus, PerfCntrGlobalCtl, PerfCntrGlobalStatusClr of PerfMonV2: a bit for each counter. Freezing, and
/// with it the upper bits of the status, came with a later processor.
inline constexpr std::uint32_t kAmdGlobalStatus = 0xC000'0300, kAmdGlobalCtl = 0xC000'0301,
                               kAmdGlobalStatusClr = 0xC000'0302;

}  // namespace zs::arch
