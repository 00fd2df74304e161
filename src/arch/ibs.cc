#include "arch/ibs.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>

#include "arch/core_signals.h"
#include "arch/cpu_model.h"
#include "arch/records/data_source.h"
#include "arch/records/perf_mem.h"
#include "arch/retired.h"

namespace zs::arch {
namespace {

/// What it has on every processor here that has it.
constexpr std::uint32_t kModelled = ibs_caps::kValid | ibs_caps::kFetchSampling | ibs_caps::kOpSampling |
                                    ibs_caps::kReadWriteCount | ibs_caps::kOpCounting | ibs_caps::kBranchTarget |
                                    ibs_caps::kWideCounts | ibs_caps::kRipInvalid | ibs_caps::kFetchExtended |
                                    ibs_caps::kL3MissFilter;

/// CPU models that have instruction-based sampling.
/// source: CPUID dump of a Ryzen 9 7950X: BFFH.
struct Processor {
  std::string_view model;
  std::uint32_t capabilities;
};
constexpr Processor kProcessors[] = {{"zen4@1", kModelled | ibs_caps::kBranchFusion}};

constexpr std::uint64_t kMost16 = 0xFFFF;

IbsDataSource source_code(const DataSource& source) {
  switch (source.level) {
    case DataLevel::L3: return IbsDataSource::LocalCache;
    case DataLevel::RemoteCache: return source.remote ? IbsDataSource::FarCache : IbsDataSource::NearCache;
    case DataLevel::Dram: return IbsDataSource::Dram;
    case DataLevel::PersistentMemory: return IbsDataSource::LongLatency;
    case DataLevel::Io: return IbsDataSource::Io;
    case DataLevel::Unknown:
    case DataLevel::L1:
    case DataLevel::FillBuffer:
    case DataLevel::L2:
    case DataLevel::BeyondL1:
    case DataLevel::L4:
    case DataLevel::Uncached: break;
  }
  return IbsDataSource::None;
}

/// IbsOpMemWidth; 0 of a width that it has no code for.
std::uint64_t width_code(unsigned bytes) {
  constexpr unsigned kWidest = 64;
  return std::has_single_bit(bytes) && bytes <= kWidest ? std::bit_width(bytes) : 0;
}

/// How long the page walk of the access took: of an instruction of one access alone is it known whose it was.
std::uint64_t walk_cycles(const Retired& retired, bool load) {
  if (retired.signals == nullptr || (load ? retired.load_count : retired.store_count) != 1) return 0;
  return (*retired.signals)[load ? CoreSignal::DtlbLoadWalkCycles : CoreSignal::DtlbStoreWalkCycles];
}

/// What became of the access: of a load, else of a store.
void report_outcome(const AccessOutcome& access, bool load, IbsOp& op) {
  using D = IbsOpData3;
  const DataSource& source = access.source;
  const bool l2_tlb_miss = source.tlb == DataTlb::Walk;
  const bool l1 = source.level == DataLevel::L1 || source.level == DataLevel::Unknown;
  const bool beyond_l2 = !l1 && source.level != DataLevel::L2 && source.level != DataLevel::BeyondL1;
  op.data3 = op.data3.with(D::l1_tlb_miss, l2_tlb_miss || source.tlb == DataTlb::Stlb)
                 .with(D::l2_tlb_miss, l2_tlb_miss)
                 .with(D::miss, !l1)
                 .with(D::l2_miss, beyond_l2)
                 .with(D::no_mab, source.level == DataLevel::FillBuffer)
                 .with(D::uncached, source.level == DataLevel::Uncached)
                 .with(D::locked, source.locked);
  const std::uint64_t cycles = std::min<std::uint64_t>(access.latency, kMost16);
  op.data = op.data.with(IbsOpData::tag_to_retirement, cycles);
  if (!load || l1) return;
  op.data3 = op.data3.with(D::miss_latency, cycles);
  const IbsDataSource code = source_code(source);
  if (code == IbsDataSource::None) return;
  op.data2 = IbsOpData2{}
                 .with_source(code)
                 .with(IbsOpData2::remote, source.remote)
                 .with(IbsOpData2::owned, source.snoop != DataSnoop::Hitm);
}

}  // namespace

std::uint32_t ibs_capabilities(const CpuModel& model) {
  const auto* const row = std::ranges::find(kProcessors, model.name, &Processor::model);
  return row == std::end(kProcessors) ? 0 : row->capabilities;
}

IbsFetch sampled_fetch(const Retired& retired) {
  using C = IbsFetchCtl;
  IbsFetch fetch{.control = C{}.with(C::complete, 1), .linear = retired.ip};
  if (!retired.fetch.present) return fetch;
  const DataSource& source = retired.fetch.source;
  const bool walk = source.tlb == DataTlb::Walk;
  const bool missed = source.level != DataLevel::L1 && source.level != DataLevel::Unknown;
  const bool missed_l2 = missed && source.level != DataLevel::L2;
  fetch.control = fetch.control.with(C::latency, std::min<std::uint64_t>(retired.fetch.latency, kMost16))
                      .with(C::ic_miss, missed)
                      .with(C::l2_miss, missed_l2)
                      .with(C::l3_miss, missed_l2 && source.level != DataLevel::L3)
                      .with(C::l1_tlb_miss, walk || source.tlb == DataTlb::Stlb)
                      .with(C::l2_tlb_miss, walk);
  if (walk && retired.signals != nullptr) {
    const std::uint64_t cycles = (*retired.signals)[CoreSignal::ItlbWalkCycles];
    fetch.extended = fetch.extended.with(IbsFetchCtlExtd::tlb_latency, std::min(cycles, kMost16));
  }
  return fetch;
}

IbsOp sampled_op(const Retired& retired) {
  using D = IbsOpData3;
  IbsOp op{.rip = retired.ip};
  if (retired.branch != BranchKind::None) {
    op.data = op.data.with(IbsOpData::branch, 1)
                  .with(IbsOpData::is_return, retired.branch == BranchKind::Return)
                  .with(IbsOpData::taken, retired.taken)
                  .with(IbsOpData::mispredicted, retired.mispredicted);
    if (retired.taken) op.target = retired.next_ip;
  }
  if (retired.signals != nullptr && (*retired.signals)[CoreSignal::SlotsMicrocode] != 0)
    op.data = op.data.with(IbsOpData::microcode, 1);
  const bool load = retired.load_count != 0, store = retired.store_count != 0;
  op.data3 = op.data3.with(D::load, load).with(D::store, store).with(D::prefetch, retired.prefetch);
  if (!load && !store) return op;
  const bool own_store = !load && retired.store_address != 0;
  op.linear = own_store ? retired.store_address : retired.data_address;
  op.data3 = op.data3.with(D::misaligned, (load ? retired.split_loads : retired.split_stores) != 0)
                 .with(D::locked, retired.locked)
                 .with(D::linear_valid, op.linear != 0)
                 .with(D::width, width_code(own_store ? retired.store_bytes : retired.data_bytes));
  if (retired.physical != 0 && op.linear == retired.data_address) {
    op.physical = retired.physical & kIbsPhysicalBits;
    op.data3 = op.data3.with(D::physical_valid, 1);
  }
  const AccessOutcome& access = load ? retired.load : retired.store;
  if (!access.present) return op;
  report_outcome(access, load, op);
  if (op.data3.has(D::l2_tlb_miss))
    op.data3 = op.data3.with(D::tlb_latency, std::min(walk_cycles(retired, load), kMost16));
  return op;
}

bool missed_l3(const IbsOp& op) {
  return op.data3.has(IbsOpData3::load) && op.data2.source() > IbsDataSource::LocalCache;
}

namespace {

using namespace perf_mem;

constexpr Word kNumberCxl = kLevelNumber.value(0x9), kNumberIo = kLevelNumber.value(0xA),
               kNumberUncached = kLevelNumber.value(0x8);
constexpr Word hops(unsigned n) { return kHops.value(n); }

/// Nothing for a code that Linux has no word for.
Word word_of(const IbsOpData2& data) {
  const bool remote = data.has(IbsOpData2::remote);
  const Word elsewhere = remote ? kRemote | hops(2) : Word{};
  switch (data.source()) {
    case IbsDataSource::LocalCache: return kL3 | kHit | number(3);
    case IbsDataSource::NearCache: return kRemoteCache1 | kHit | kNumberAnyCache | kRemote | hops(1);
    case IbsDataSource::Dram:
      if (remote) return kRemoteRam1 | kHit | kNumberRam | kRemote | hops(2);
      return kLocalRam | kHit | kNumberRam;
    case IbsDataSource::FarCache: return kRemoteCache2 | kHit | kNumberAnyCache | kRemote | hops(2);
    case IbsDataSource::LongLatency: return kNumberPersistent | elsewhere;
    case IbsDataSource::Io: return kIo | kHit | kNumberIo;
    case IbsDataSource::ExtensionMemory: return kNumberCxl | elsewhere;
    case IbsDataSource::None: break;
  }
  return {};
}

Word level_of(const IbsOp& op) {
  using D = IbsOpData3;
  if (op.data3.has(D::uncached) && op.data2.source() != IbsDataSource::Io) return kUncached | kHit | kNumberUncached;
  if (!op.data3.has(D::miss)) return kL1 | kHit | number(1);
  if (!op.data3.has(D::l2_miss)) return kL2 | kHit | number(2);
  if (op.data3.has(D::load)) {
    if (const Word word = word_of(op.data2); word.bits != 0) return word;
  }
  if (op.data3.has(D::no_mab)) return kFillBuffer | kHit | kNumberFillBuffer;
  return kLevelNa | kNumberNa;
}

}  // namespace

std::uint64_t perf_data_src(const IbsOp& op) {
  using D = IbsOpData3;
  const bool load = op.data3.has(D::load);
  if (!load && !op.data3.has(D::store)) return kNothingKnown.bits;
  const Word level = level_of(op);
  const bool in_cache = op.data2.source() == IbsDataSource::LocalCache ||
                        op.data2.source() == IbsDataSource::NearCache || op.data2.source() == IbsDataSource::FarCache;
  const bool modified = load && in_cache && !op.data2.has(IbsOpData2::owned) && op.data3.has(D::l2_miss);
  Word tlb = kTlbNa;
  if (op.data3.has(D::linear_valid)) {
    tlb = !op.data3.has(D::l1_tlb_miss)   ? kTlbL1 | kTlbHit
          : !op.data3.has(D::l2_tlb_miss) ? kTlbL2 | kTlbHit
                                          : kTlbL2 | kTlbMiss;
  }
  return ((load ? kLoad : kStore) | level | (modified ? kSnoopHitm : kSnoopNa) | tlb |
          (op.data3.has(D::locked) ? kLocked : kLockNa))
      .bits;
}

IbsLatency perf_latency(const IbsOp& op) {
  if (!op.data3.has(IbsOpData3::load) || !op.data3.has(IbsOpData3::miss)) return {};
  return {static_cast<std::uint32_t>(op.data3.get(IbsOpData3::miss_latency)),
          static_cast<std::uint32_t>(op.data.get(IbsOpData::tag_to_retirement))};
}

}  // namespace zs::arch
