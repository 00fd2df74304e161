// Instruction-based sampling of AMD's processors: its registers, and what they hold of one sampled fetch or op.
// source: PPR of family 19H model 61H, "Instruction Based Sampling (IBS)", registers MSRC001_1030 to MSRC001_103C; APM
//         vol. 2, "Instruction-Based Sampling"; APM vol. 3, function 8000_001BH. Fields as Linux names them in
//         asm/amd-ibs.h.
// Left out: IbsOpData4, which this generation has not.
#pragma once

#include <cstdint>

#include "arch/register.h"

namespace zs::arch {

struct CpuModel;
struct Retired;

/// Bits of CPUID 8000_001BH:EAX.
namespace ibs_caps {
inline constexpr std::uint32_t kValid = 1U << 0, kFetchSampling = 1U << 1, kOpSampling = 1U << 2,
                               kReadWriteCount = 1U << 3,  // IbsOpCurCnt
    kOpCounting = 1U << 4,                                 // IbsOpCntCtl
    kBranchTarget = 1U << 5, kWideCounts = 1U << 6, kRipInvalid = 1U << 7, kBranchFusion = 1U << 8,
                               kFetchExtended = 1U << 9, kOpData4 = 1U << 10, kL3MissFilter = 1U << 11;
}  // namespace ibs_caps

/// CPUID 8000_001BH:EAX of this processor; 0: it has no instruction-based sampling.
std::uint32_t ibs_capabilities(const CpuModel& model);
inline bool has_ibs(const CpuModel& model) { return ibs_capabilities(model) != 0; }

/// MSRC001_1030, IbsFetchCtl: how often fetches are tagged, whether a sample waits, and what it says.
struct IbsFetchCtl : Register64<IbsFetchCtl> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC001'1030;
  static constexpr Bits<15, 0> max{"IbsFetchMaxCnt[19:4]"};
  static constexpr Bits<31, 16> current{"IbsFetchCnt[19:4]"};
  static constexpr Bits<47, 32> latency{"IbsFetchLat"};
  static constexpr Bits<48> enable{"IbsFetchEn"};
  static constexpr Bits<49> valid{"IbsFetchVal"};
  static constexpr Bits<50> complete{"IbsFetchComp"};
  static constexpr Bits<51> ic_miss{"IbsIcMiss"};
  static constexpr Bits<52> physical_valid{"IbsPhyAddrValid"};
  static constexpr Bits<54, 53> page_size{"IbsL1TlbPgSz"};  // with IbsPhyAddrValid: 4 KiB, 2 MiB, 1 GiB
  static constexpr Bits<55> l1_tlb_miss{"IbsL1TlbMiss"};
  static constexpr Bits<56> l2_tlb_miss{"IbsL2TlbMiss"};
  static constexpr Bits<57> random{"IbsRandEn"};
  static constexpr Bits<58> l2_miss{"IbsFetchL2Miss"};
  static constexpr Bits<59> l3_miss_only{"IbsFetchL3MissOnly"};
  static constexpr Bits<60> oc_miss{"IbsFetchOcMiss"};
  static constexpr Bits<61> l3_miss{"IbsFetchL3Miss"};
  static constexpr auto fields =
      field_list(max, current, latency, enable, valid, complete, ic_miss, physical_valid, page_size, l1_tlb_miss,
                 l2_tlb_miss, random, l2_miss, l3_miss_only, oc_miss, l3_miss);

  /// IbsFetchMaxCnt and IbsFetchCnt whole: their lowest four bits are not in the register.
  constexpr std::uint64_t maximum() const { return get(max) << 4; }
  constexpr IbsFetchCtl with_maximum(std::uint64_t count) const { return with(max, count >> 4); }
  constexpr std::uint64_t counted() const { return get(current) << 4; }
};

/// MSRC001_1033, IbsOpCtl: how often ops are tagged, and whether a sample waits.
struct IbsOpCtl : Register64<IbsOpCtl> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC001'1033;
  static constexpr Bits<15, 0> max_low{"IbsOpMaxCnt[19:4]"};
  static constexpr Bits<16> l3_miss_only{"IbsOpL3MissOnly"};
  static constexpr Bits<17> enable{"IbsOpEn"};
  static constexpr Bits<18> valid{"IbsOpVal"};
  static constexpr Bits<19> counts_ops{"IbsOpCntCtl"};  // 0: core cycles
  static constexpr Bits<26, 20> max_high{"IbsOpMaxCnt[26:20]"};
  static constexpr Bits<58, 32> current{"IbsOpCurCnt"};
  static constexpr auto fields = field_list(max_low, l3_miss_only, enable, valid, counts_ops, max_high, current);

  /// IbsOpMaxCnt whole: its lowest four bits are 0.
  constexpr std::uint64_t maximum() const { return get(max_high) << 20 | get(max_low) << 4; }
  constexpr IbsOpCtl with_maximum(std::uint64_t count) const {
    return with(max_high, count >> 20).with(max_low, count >> 4 & max_low.max);
  }
};

/// MSRC001_1035, IbsOpData: retirement, and the branch if it is one.
struct IbsOpData : Register64<IbsOpData> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC001'1035;
  static constexpr Bits<15, 0> completion_to_retirement{"IbsCompToRetCtr"};
  static constexpr Bits<31, 16> tag_to_retirement{"IbsTagToRetCtr"};
  static constexpr Bits<34> is_return{"IbsOpReturn"};
  static constexpr Bits<35> taken{"IbsOpBrnTaken"};
  static constexpr Bits<36> mispredicted{"IbsOpBrnMisp"};
  static constexpr Bits<37> branch{"IbsOpBrnRet"};
  static constexpr Bits<38> rip_invalid{"IbsRipInvalid"};
  static constexpr Bits<39> fused{"IbsOpBrnFuse"};
  static constexpr Bits<40> microcode{"IbsOpMicrocode"};
  static constexpr auto fields = field_list(completion_to_retirement, tag_to_retirement, is_return, taken, mispredicted,
                                            branch, rip_invalid, fused, microcode);
};

/// IbsOpData2[DataSrc]: where the data of a load came from that missed L2.
enum class IbsDataSource : std::uint8_t {
  None = 0,
  LocalCache = 1,      // L3, or another core's L1 or L2, of the same complex
  NearCache = 2,       // of another complex of the node
  Dram = 3,            //
  FarCache = 5,        // of another node
  LongLatency = 6,     // persistent memory
  Io = 7,              // MMIO, configuration space, APIC
  ExtensionMemory = 8  //
};

/// MSRC001_1036, IbsOpData2.
struct IbsOpData2 : Register64<IbsOpData2> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC001'1036;
  static constexpr Bits<2, 0> source_low{"DataSrc[2:0]"};
  static constexpr Bits<4> remote{"RmtNode"};
  static constexpr Bits<5> owned{"CacheHitSt"};  // 0: the cache had the line modified; 1: owned
  static constexpr Bits<7, 6> source_high{"DataSrc[4:3]"};
  static constexpr auto fields = field_list(source_low, remote, owned, source_high);

  constexpr IbsDataSource source() const { return static_cast<IbsDataSource>(get(source_high) << 3 | get(source_low)); }
  constexpr IbsOpData2 with_source(IbsDataSource from) const {
    const auto code = static_cast<std::uint64_t>(from);
    return with(source_high, code >> 3).with(source_low, code & source_low.max);
  }
};

/// MSRC001_1037, IbsOpData3: the access of a load or a store.
struct IbsOpData3 : Register64<IbsOpData3> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC001'1037;
  static constexpr Bits<0> load{"IbsLdOp"};
  static constexpr Bits<1> store{"IbsStOp"};
  static constexpr Bits<2> l1_tlb_miss{"IbsDcL1TlbMiss"};
  static constexpr Bits<3> l2_tlb_miss{"IbsDcL2TlbMiss"};
  static constexpr Bits<4> l1_tlb_hit_2m{"IbsDcL1TlbHit2M"};
  static constexpr Bits<5> l1_tlb_hit_1g{"IbsDcL1TlbHit1G"};
  static constexpr Bits<6> l2_tlb_hit_2m{"IbsDcL2TlbHit2M"};
  static constexpr Bits<7> miss{"IbsDcMiss"};
  static constexpr Bits<8> misaligned{"IbsDcMisAcc"};
  static constexpr Bits<13> write_combining{"IbsDcWcMemAcc"};
  static constexpr Bits<14> uncached{"IbsDcUcMemAcc"};
  static constexpr Bits<15> locked{"IbsDcLockedOp"};
  static constexpr Bits<16> no_mab{"DcMissNoMabAlloc"};  // the line was on its way already
  static constexpr Bits<17> linear_valid{"IbsDcLinAddrValid"};
  static constexpr Bits<18> physical_valid{"IbsDcPhyAddrValid"};
  static constexpr Bits<19> l2_tlb_hit_1g{"IbsDcL2TlbHit1G"};
  static constexpr Bits<20> l2_miss{"L2Miss"};
  static constexpr Bits<21> prefetch{"IbsSwPf"};
  static constexpr Bits<25, 22> width{"IbsOpMemWidth"};  // 0: not known; n: 2^(n-1) bytes
  static constexpr Bits<31, 26> open_requests{"IbsOpDcMissOpenMemReqs"};
  static constexpr Bits<47, 32> miss_latency{"IbsDcMissLat"};
  static constexpr Bits<63, 48> tlb_latency{"IbsTlbRefillLat"};
  static constexpr auto fields =
      field_list(load, store, l1_tlb_miss, l2_tlb_miss, l1_tlb_hit_2m, l1_tlb_hit_1g, l2_tlb_hit_2m, miss, misaligned,
                 write_combining, uncached, locked, no_mab, linear_valid, physical_valid, l2_tlb_hit_1g, l2_miss,
                 prefetch, width, open_requests, miss_latency, tlb_latency);
};

/// MSRC001_103C, IbsFetchCtlExtd, which Linux calls IC_IBS_EXTD_CTL.
struct IbsFetchCtlExtd : Register64<IbsFetchCtlExtd> {
  using Register64::Register64;
  static constexpr std::uint32_t msr = 0xC001'103C;
  static constexpr Bits<15, 0> tlb_latency{"IbsItlbRefillLat"};
  static constexpr auto fields = field_list(tlb_latency);
};

/// Registers of one value each.
inline constexpr std::uint32_t kIbsFetchLinAd = 0xC001'1031, kIbsFetchPhysAd = 0xC001'1032;
inline constexpr std::uint32_t kIbsOpRip = 0xC001'1034, kIbsDcLinAd = 0xC001'1038, kIbsDcPhysAd = 0xC001'1039,
                               kIbsControl = 0xC001'103A, kIbsBrTarget = 0xC001'103B;
inline constexpr std::uint64_t kIbsPhysicalBits = (std::uint64_t{1} << 52) - 1;
/// MSRC001_103A, IBS_CTL, as firmware leaves it: LvtOffsetVal, and entry 0 of the extended interrupts.
inline constexpr std::uint64_t kIbsControlStart = 0x100;

/// What the registers say of a sampled op.
struct IbsOp {
  std::uint64_t rip = 0;
  IbsOpData data;
  IbsOpData2 data2;
  IbsOpData3 data3;
  std::uint64_t linear = 0, physical = 0;  // IbsDcLinAd, IbsDcPhysAd
  std::uint64_t target = 0;                // IbsBrTarget; 0: no branch, or not taken
  friend constexpr bool operator==(const IbsOp&, const IbsOp&) = default;
};

/// What the registers say of a sampled fetch.
struct IbsFetch {
  IbsFetchCtl control;  // the fields from IbsFetchLat on that are its own, without what software wrote
  std::uint64_t linear = 0, physical = 0;  // IbsFetchLinAd, IbsFetchPhysAd
  IbsFetchCtlExtd extended;
  friend constexpr bool operator==(const IbsFetch&, const IbsFetch&) = default;
};

/// Of the fetch of this instruction.
///   * IbsFetchLat is how long the front end waited for its line, 0 where the line was in L1I and its page in the first
///     TLB.
///   * IbsItlbRefillLat is the time of the page walk; 0 of a hit in the second TLB.
///   * Every fetch is complete, because its instruction retired.
///   * Left out, always 0: physical addresses, and with them the sizes of pages; IbsFetchOcMiss.
IbsFetch sampled_fetch(const Retired& retired);

/// Of an op of this instruction.
///   * What a core model knows of the access is told, and nothing where there is none. Of a read-modify-write it is the
///     load's, as Linux reads it.
///   * IbsTagToRetCtr is the time from dispatch to the data: the core model tells of no other. IbsCompToRetCtr is 0.
///   * CacheHitSt is 1 but where another core had the line modified: Linux takes 0 of any cache for that.
///   * IbsOpMemWidth is that of one element of a string instruction, and 0 of accesses that it has no code for (80
///     bits, XSAVE).
///   * IbsTlbRefillLat is the time of the page walk; 0 of a hit in the second TLB, and where an instruction has several
///     loads or stores.
///   * IbsDcPhysAd is there in a virtual PC; a program knows no physical addresses.
///   * Left out, always 0: sizes of pages, memory types, IbsOpBrnFuse, open requests. RIPs are
///     never invalid.
IbsOp sampled_op(const Retired& retired);

/// Whether it is a sample under IbsOpL3MissOnly: a load whose data came from beyond L3.
bool missed_l3(const IbsOp& op);

/// What Linux makes of the registers for perf: data_src, and the two latencies of a load that missed L1D.
/// source: Linux 6.8, arch/x86/events/amd/ibs.c, for processors with the extended data sources.
std::uint64_t perf_data_src(const IbsOp& op);
struct IbsLatency {
  std::uint32_t cycles = 0;              // IbsDcMissLat
  std::uint32_t instruction_cycles = 0;  // IbsTagToRetCtr
};
IbsLatency perf_latency(const IbsOp& op);

}  // namespace zs::arch
