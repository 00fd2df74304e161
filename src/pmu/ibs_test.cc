// Instruction-based sampling as software finds it: which op or fetch is tagged, what its registers then hold, when
// counting goes on.
// source: PPR of family 19H model 61H, MSRC001_1030 to MSRC001_103C.
#include "arch/ibs.h"

#include <gmock/gmock.h>

#include <vector>

#include "arch/msr_map.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kCtl = 0xC001'1033, kRip = 0xC001'1034, kData = 0xC001'1035, kData2 = 0xC001'1036,
                        kData3 = 0xC001'1037, kLinAd = 0xC001'1038, kPhysAd = 0xC001'1039, kIbsCtl = 0xC001'103A,
                        kTarget = 0xC001'103B;
constexpr std::uint32_t kFetchCtl = 0xC001'1030, kFetchLinAd = 0xC001'1031, kFetchPhysAd = 0xC001'1032,
                        kFetchExtd = 0xC001'103C;
constexpr std::uint64_t kEnable = 1U << 17, kValid = 1U << 18, kOps = 1U << 19, kL3MissOnly = 1U << 16;
constexpr std::uint64_t kFetchEnable = std::uint64_t{1} << 48, kFetchValid = kFetchEnable << 1,
                        kFetchComplete = kFetchEnable << 2, kRandom = std::uint64_t{1} << 57,
                        kFetchL3MissOnly = std::uint64_t{1} << 59;

struct Zen4 : TestPmu {
  Zen4() : TestPmu("zen4") {}
  bool valid() const { return (rd(kCtl) & kValid) != 0; }
  std::uint64_t current() const { return rd(kCtl) >> 32; }
  /// Instructions until a fetch was sampled, its own included.
  unsigned run_to_fetch(arch::Retired r = {}) {
    for (unsigned n = 1; n < 2'000'000; ++n) {
      r.ip += 4;
      retire(r);
      if ((rd(kFetchCtl) & kFetchValid) != 0) return n;
    }
    return 0;
  }
  /// Instructions until a sample is there, the tagged one included.
  unsigned run_to_sample(std::uint64_t ip = 0x1000) {
    for (unsigned n = 1; n < 100'000; ++n) {
      arch::Retired r;
      r.ip = ip + 4 * (n - 1);
      retire(r);
      if (valid()) return n;
    }
    return 0;
  }
};

TEST(Ibs, HasItsRegistersAndNoIbsOpData4) {
  Zen4 t;
  for (const std::uint32_t msr :
       {kFetchCtl, kFetchLinAd, kFetchPhysAd, kFetchExtd, kCtl, kRip, kData, kData2, kData3, kLinAd, kPhysAd, kTarget})
    EXPECT_EQ(t.rd(msr), 0U) << std::hex << msr;
  EXPECT_EQ(t.rd(kIbsCtl), 0x100U) << "LvtOffsetVal, entry 0";
  EXPECT_TRUE(t.write_faults(kIbsCtl, 0x100));
  for (const std::uint32_t msr : {0xC001'102FU, 0xC001'103DU}) EXPECT_TRUE(t.read_faults(msr)) << std::hex << msr;
}

// The masks are typed from the manual, bit by bit, and not made of the fields.
TEST(Ibs, RefusesEachReservedBit) {
  const struct {
    std::uint32_t msr;
    std::uint64_t defined;
  } kRows[] = {{kCtl, 0x07FF'FFFF'07FF'FFFF},         {kRip, ~std::uint64_t{0}},
               {kData, 0x0000'01FC'FFFF'FFFF},        {kData2, 0xF7},
               {kData3, 0xFFFF'FFFF'FFFF'E1FF},       {kLinAd, ~std::uint64_t{0}},
               {kPhysAd, 0x000F'FFFF'FFFF'FFFF},      {kTarget, ~std::uint64_t{0}},
               {kFetchCtl, 0x3FFF'FFFF'FFFF'FFFF},    {kFetchLinAd, ~std::uint64_t{0}},
               {kFetchPhysAd, 0x000F'FFFF'FFFF'FFFF}, {kFetchExtd, 0xFFFF}};
  for (const auto& row : kRows) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      Zen4 t;
      const std::uint64_t value = std::uint64_t{1} << bit;
      EXPECT_EQ(t.write_faults(row.msr, value), (row.defined & value) == 0) << std::hex << row.msr << " bit " << bit;
      EXPECT_EQ(t.rd(row.msr), row.defined & value) << std::hex << row.msr << " bit " << bit;
    }
  }
}

TEST(Ibs, IsNotThereOnOtherProcessors) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    if (arch::has_ibs(model)) continue;
    TestPmu t{model.name};
    EXPECT_TRUE(t.read_faults(kCtl)) << model.name;
    EXPECT_TRUE(t.write_faults(kCtl, 0)) << model.name;
  }
}

TEST(Ibs, TagsTheOpWithWhichTheCountReachesItsMaximum) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  EXPECT_EQ(t.run_to_sample(), 160U);
  EXPECT_EQ(t.rd(kRip), 0x1000U + 4 * 159);
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_EQ(t.rd(0xC000'0300), 0U) << "no counter's status";
}

TEST(Ibs, CountsNothingUntilSoftwareClearsTheValidBit) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  t.run_to_sample();
  const std::uint64_t sampled = t.rd(kCtl), rip = t.rd(kRip);
  t.run(1000);
  EXPECT_EQ(t.rd(kCtl), sampled);
  EXPECT_EQ(t.rd(kRip), rip);
  EXPECT_EQ(t.pmi.requested, 1);
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  EXPECT_EQ(t.run_to_sample(), 160U);
  EXPECT_EQ(t.pmi.requested, 2);
}

TEST(Ibs, BeginsAnewAtARandomNumberOf7BitsThatSoftwareMayKeep) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  std::vector<bool> seen(128);
  for (int i = 0; i < 127; ++i) {
    ASSERT_NE(t.run_to_sample(), 0U);
    const std::uint64_t random = t.current();
    ASSERT_GE(random, 1U);
    ASSERT_LE(random, 127U);
    EXPECT_FALSE(seen[random]) << random;
    seen[random] = true;
    t.wr(kCtl, random << 32 | kEnable | kOps | 160 >> 4);
    arch::Retired r;
    r.ip = 0x2000;
    unsigned ops = 0;
    for (; !t.valid(); ++ops) t.retire(r);
    EXPECT_EQ(ops, 160 - random);
    t.wr(kCtl, kEnable | kOps | 160 >> 4);
  }
}

TEST(Ibs, ShowsWhatItHasCounted) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  t.run(100);
  EXPECT_EQ(t.current(), 100U);
  t.wr(kCtl, 0);
  t.run(100);
  EXPECT_EQ(t.rd(kCtl), 0U);
}

TEST(Ibs, ReachesACountOf27Bits) {
  Zen4 t;
  constexpr std::uint64_t kMost = 0x7FF'FFF0;
  t.wr(kCtl, kEnable | kOps | arch::IbsOpCtl{}.with_maximum(kMost).raw() | (kMost - 3) << 32);
  EXPECT_EQ(t.run_to_sample(), 3U);
}

TEST(Ibs, CountsNothingWithoutItsEnableOrAMaximum) {
  Zen4 t;
  t.wr(kCtl, kOps | 160 >> 4);
  t.run(500);
  EXPECT_EQ(t.rd(kCtl), kOps | 160 >> 4);
  t.wr(kCtl, kEnable | kOps);
  t.run(500);
  EXPECT_EQ(t.rd(kCtl), kEnable | kOps);
  EXPECT_TRUE(t.pmu.accumulators().empty());
}

TEST(Ibs, CountsCyclesAndTagsWhatRetiresNext) {
  Zen4 t;
  t.wr(kCtl, kEnable | 160 >> 4);
  EXPECT_EQ(t.pmu.time_headroom().core, 159U);
  t.run(500);
  t.pmu.advance({.core = 100});
  EXPECT_EQ(t.current(), 100U);
  t.pmu.advance({.core = 75});
  EXPECT_FALSE(t.valid());
  EXPECT_TRUE(t.pmu.needs_each());
  EXPECT_EQ(t.run_to_sample(0x3000), 1U);
  EXPECT_EQ(t.rd(kRip), 0x3000U);
  EXPECT_EQ(t.current(), 0U) << "nothing random";
  EXPECT_FALSE(t.pmu.needs_each());
}

TEST(Ibs, CountsInEveryRingWhateverTheGlobalControlSays) {
  Zen4 t;
  t.wr(0xC000'0301, 0);
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  for (unsigned i = 0; i < 20; ++i) {
    arch::Retired r;
    r.ip = 0x1000;
    r.cpl = i % 2 == 0 ? 0 : 3;
    t.retire(r);
  }
  EXPECT_EQ(t.current(), 20U);
}

TEST(Ibs, CountsInBulkAsOneByOne) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  ASSERT_EQ(t.pmu.accumulators().size(), 1U);
  EXPECT_EQ(t.pmu.headroom(0), 159U);
  EXPECT_FALSE(t.pmu.only_adds()) << "an interrupt of it needs its instruction";
  t.pmu.count(0, 159);
  EXPECT_EQ(t.run_to_sample(0x3000), 1U);
  EXPECT_EQ(t.rd(kRip), 0x3000U);
}

TEST(Ibs, TagsTheNextInstructionIfItsMaximumWasPassedInBulk) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  t.pmu.pass(0, 1000);
  EXPECT_EQ(t.pmu.headroom(0), 0U);
  EXPECT_TRUE(t.pmu.needs_each());
  EXPECT_EQ(t.run_to_sample(0x3000), 1U);
}

TEST(Ibs, PutsTheSampledOpIntoItsRegisters) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 144 >> 4 | std::uint64_t{143} << 32);
  arch::Retired r = load_at(0x1234, 0x7008);
  r.load = {.present = true, .latency = 300, .source = {.level = arch::DataLevel::Dram, .tlb = arch::DataTlb::Walk}};
  t.retire(r);
  ASSERT_TRUE(t.valid());
  EXPECT_EQ(t.rd(kRip), 0x1234U);
  EXPECT_EQ(t.rd(kData), std::uint64_t{300} << 16);
  EXPECT_EQ(t.rd(kData2), 0x23U) << "DRAM, not modified";
  EXPECT_EQ(t.rd(kData3), 0x12C'0012'008DU);
  EXPECT_EQ(t.rd(kLinAd), 0x7008U);
  EXPECT_EQ(t.rd(kPhysAd), 0U);
  EXPECT_EQ(t.rd(kTarget), 0U);
  t.wr(kCtl, kEnable | kOps | 144 >> 4 | std::uint64_t{143} << 32);
  t.retire(branch_at(0x2000, 0x3000, arch::BranchKind::RelativeCall));
  EXPECT_EQ(t.rd(kData), 0x28'0000'0000U);
  EXPECT_EQ(t.rd(kTarget), 0x3000U);
  EXPECT_EQ(t.rd(kData3), 0U) << "nothing is left of the one before";
}

TEST(Ibs, DropsOpsThatDidNotMissL3WhereItIsToldTo) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | kL3MissOnly | 160 >> 4);
  t.run(1000);
  EXPECT_FALSE(t.valid());
  EXPECT_EQ(t.pmi.requested, 0);
  arch::Retired r = load_at(0x1234, 0x7008);
  r.load = {.present = true, .latency = 300, .source = {.level = arch::DataLevel::Dram}};
  for (int i = 0; i < 160 && !t.valid(); ++i) t.retire(r);
  EXPECT_TRUE(t.valid());
  EXPECT_EQ(t.rd(kRip), 0x1234U);
}

TEST(Ibs, IsClearAfterAReset) {
  Zen4 t;
  t.wr(kCtl, kEnable | kOps | 160 >> 4);
  t.run_to_sample();
  t.pmu.reset();
  for (const std::uint32_t msr : {kCtl, kRip, kData, kData2, kData3, kLinAd, kPhysAd, kTarget})
    EXPECT_EQ(t.rd(msr), 0U) << std::hex << msr;
  t.run(1000);
  EXPECT_EQ(t.rd(kCtl), 0U);
}

TEST(IbsFetch, TagsTheFetchWithWhichTheCountReachesItsMaximum) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  EXPECT_EQ(t.run_to_fetch(), 160U);
  EXPECT_EQ(t.rd(kFetchCtl), kFetchEnable | kFetchValid | kFetchComplete | (160 >> 4) << 16 | 160 >> 4);
  EXPECT_EQ(t.rd(kFetchLinAd), 4U * 160);
  EXPECT_EQ(t.pmi.requested, 1);
  EXPECT_FALSE(t.valid()) << "no op";
}

TEST(IbsFetch, CountsNothingUntilSoftwareClearsTheValidBit) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  t.run_to_fetch();
  const std::uint64_t sampled = t.rd(kFetchCtl);
  t.run(1000);
  EXPECT_EQ(t.rd(kFetchCtl), sampled);
  EXPECT_EQ(t.pmi.requested, 1);
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  EXPECT_EQ(t.run_to_fetch(), 160U);
}

TEST(IbsFetch, ShowsTheUpperBitsOfWhatItHasCountedAndGoesOnFromThere) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  t.run(15);
  EXPECT_EQ(t.rd(kFetchCtl) >> 16 & 0xFFFF, 0U);
  t.run(85);
  EXPECT_EQ(t.rd(kFetchCtl) >> 16 & 0xFFFF, 100U >> 4);
  t.wr(kFetchCtl, t.rd(kFetchCtl));
  EXPECT_EQ(t.run_to_fetch(), 160U - (100U & ~0xFU)) << "the lowest bits are 0 again";
}

TEST(IbsFetch, ReachesACountOf20Bits) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 0xFFFF);
  EXPECT_EQ(t.run_to_fetch(), 0xF'FFF0U);
}

TEST(IbsFetch, BeginsAtRandomLowestBitsWhereItIsToldTo) {
  Zen4 t;
  std::vector<unsigned> seen(16);
  for (int i = 0; i < 127; ++i) {
    t.wr(kFetchCtl, kFetchEnable | kRandom | 160 >> 4);
    const unsigned passed = t.run_to_fetch();
    ASSERT_GE(passed, 145U);
    ASSERT_LE(passed, 160U);
    ++seen[160 - passed];
    EXPECT_EQ(t.rd(kFetchCtl) & kRandom, kRandom);
  }
  for (const unsigned times : seen)
    EXPECT_GE(times, 7U) << "127 numbers of 7 bits: each of 4 bits seven or eight times";
}

TEST(IbsFetch, CountsNothingWithoutItsEnableOrAMaximum) {
  Zen4 t;
  t.wr(kFetchCtl, 160 >> 4);
  t.run(500);
  EXPECT_EQ(t.rd(kFetchCtl), 160U >> 4);
  t.wr(kFetchCtl, kFetchEnable);
  t.run(500);
  EXPECT_EQ(t.rd(kFetchCtl), kFetchEnable);
  EXPECT_TRUE(t.pmu.accumulators().empty());
}

TEST(IbsFetch, CountsInBulkAsOneByOne) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  ASSERT_EQ(t.pmu.accumulators().size(), 1U);
  EXPECT_EQ(t.pmu.headroom(0), 159U);
  EXPECT_FALSE(t.pmu.only_adds()) << "an interrupt of it needs its instruction";
  t.pmu.count(0, 159);
  EXPECT_EQ(t.run_to_fetch(), 1U);
}

TEST(IbsFetch, SamplesBesideOps) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  t.wr(kCtl, kEnable | kOps | 320 >> 4);
  EXPECT_EQ(t.pmu.accumulators().size(), 1U) << "both count instructions";
  EXPECT_EQ(t.run_to_fetch(), 160U);
  EXPECT_FALSE(t.valid());
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  EXPECT_EQ(t.run_to_fetch({}), 160U);
  EXPECT_TRUE(t.valid()) << "with the same instruction";
  EXPECT_EQ(t.rd(kRip), t.rd(kFetchLinAd));
  EXPECT_EQ(t.pmi.requested, 2) << "one interrupt for both";
}

arch::Retired fetched_from(arch::DataLevel level, arch::DataTlb tlb) {
  arch::Retired r;
  r.fetch = {.present = true, .latency = 200, .source = {.level = level, .tlb = tlb}};
  return r;
}

TEST(IbsFetch, DropsFetchesThatDidNotMissL3WhereItIsToldTo) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | kFetchL3MissOnly | 160 >> 4);
  t.run(1000);
  EXPECT_EQ(t.pmi.requested, 0);
  for (int i = 0; i < 200; ++i) t.retire(fetched_from(arch::DataLevel::L3, arch::DataTlb::L1));
  EXPECT_EQ(t.pmi.requested, 0);
  EXPECT_NE(t.run_to_fetch(fetched_from(arch::DataLevel::Dram, arch::DataTlb::L1)), 0U);
  EXPECT_EQ(t.rd(kFetchCtl) & kFetchL3MissOnly, kFetchL3MissOnly);
}

TEST(IbsFetch, PutsTheSampledFetchIntoItsRegistersAndLeavesNothingOfTheOneBefore) {
  Zen4 t;
  arch::CoreSignals signals;
  signals[arch::CoreSignal::ItlbWalkCycles] = 33;
  arch::Retired slow = fetched_from(arch::DataLevel::Dram, arch::DataTlb::Walk);
  slow.signals = &signals;
  t.wr(kFetchCtl, kFetchEnable | 16 >> 4);
  t.run_to_fetch(slow);
  EXPECT_EQ(t.rd(kFetchCtl) >> 32, 0x258F'00C8U) << "L3 and L2 missed, both TLBs, IC; valid, complete; 200 cycles";
  EXPECT_EQ(t.rd(kFetchExtd), 33U);
  EXPECT_EQ(t.rd(kFetchPhysAd), 0U);
  t.wr(kFetchCtl, kFetchEnable | 16 >> 4);
  t.run_to_fetch();
  EXPECT_EQ(t.rd(kFetchCtl) >> 32, 0x7'0000U);
  EXPECT_EQ(t.rd(kFetchExtd), 0U);
}

TEST(IbsFetch, IsClearAfterAReset) {
  Zen4 t;
  t.wr(kFetchCtl, kFetchEnable | 160 >> 4);
  t.run_to_fetch();
  t.pmu.reset();
  for (const std::uint32_t msr : {kFetchCtl, kFetchLinAd, kFetchPhysAd, kFetchExtd})
    EXPECT_EQ(t.rd(msr), 0U) << std::hex << msr;
  t.run(1000);
  EXPECT_EQ(t.rd(kFetchCtl), 0U);
}

}  // namespace
}  // namespace zs::pmu
