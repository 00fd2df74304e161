#include "arch/msr_map.h"

#include <gtest/gtest.h>

#include "arch/cpu_model.h"
#include "arch/linear.h"

namespace zs::arch {
namespace {

const CpuModel& skylake() { return *find_cpu_model("skylake-server"); }
const CpuModel& haswell() { return *find_cpu_model("haswell"); }
const CpuModel& westmere() { return *find_cpu_model("westmere"); }

bool takes(const CpuModel& model, std::uint32_t address, std::uint64_t value) {
  const auto msr = find_msr(model, address);
  return msr && is_writable(model, *msr, value);
}

TEST(MsrMap, FindsEveryRegisterAtItsAddressAndNoneBehindTheLast) {
  for (const CpuModel& model : cpu_models()) {
    for (const MsrFact& fact : msr_facts()) {
      const unsigned count = fact.count(model);
      for (unsigned i = 0; i < count; ++i) {
        const auto found = find_msr(model, fact.address(i));
        ASSERT_TRUE(found) << model.name << ' ' << fact.name << i;
        EXPECT_EQ(found->fact, &fact);
        EXPECT_EQ(found->index, i);
      }
      const auto behind = find_msr(model, fact.address(count));
      EXPECT_TRUE(!behind || behind->fact != &fact) << model.name << ' ' << fact.name;
    }
  }
}

TEST(MsrMap, RefusesEachReservedBitAndTakesEachOther) {
  for (const CpuModel& model : cpu_models()) {
    for (const MsrFact& fact : msr_facts()) {
      if (fact.value != MsrValue::Bits) continue;
      for (unsigned i = 0; i < fact.count(model); ++i) {
        const std::uint64_t writable = fact.access == MsrAccess::ReadOnly ? 0 : fact.writable(model, i);
        for (unsigned bit = 0; bit < 64; ++bit) {
          EXPECT_EQ(takes(model, fact.address(i), std::uint64_t{1} << bit), (writable >> bit & 1) != 0)
              << model.name << ' ' << fact.name << i << " bit " << bit;
        }
      }
    }
  }
}

TEST(MsrMap, HasNoCountersBeyondThoseOfTheModel) {
  EXPECT_TRUE(find_msr(skylake(), 0xC8));
  EXPECT_FALSE(find_msr(skylake(), 0xC9));
  EXPECT_TRUE(find_msr(haswell(), 0xC4));
  EXPECT_FALSE(find_msr(haswell(), 0xC5));
  EXPECT_FALSE(find_msr(haswell(), 0x18A));
  EXPECT_FALSE(find_msr(skylake(), 0x30C)) << "no fixed counter 3";
}

TEST(MsrMap, HasFullWidthCountersOnlyWithTheirCapability) {
  EXPECT_TRUE(find_msr(haswell(), 0x4C1));
  EXPECT_FALSE(find_msr(westmere(), 0x4C1));
}

TEST(MsrMap, HasStatusSetAndInUseFromPerfmon4On) {
  EXPECT_TRUE(find_msr(skylake(), 0x391));
  EXPECT_TRUE(find_msr(skylake(), 0x392));
  EXPECT_FALSE(find_msr(haswell(), 0x391));
  EXPECT_FALSE(find_msr(haswell(), 0x392));
}

TEST(MsrMap, HasLbrInfoOnlyInFormat5) {
  EXPECT_TRUE(find_msr(skylake(), 0xDC0));
  EXPECT_FALSE(find_msr(haswell(), 0xDC0));
}

TEST(MsrMap, TakesTheBranchTraceBitsOfDebugctl) {
  EXPECT_TRUE(takes(skylake(), 0x1D9, 0x5FC3));
  EXPECT_FALSE(takes(skylake(), 0x1D9, 0x2000)) << "the uncore's PMI is Nehalem's";
  EXPECT_TRUE(takes(westmere(), 0x1D9, 0x7FC3));
  EXPECT_FALSE(takes(skylake(), 0x1D9, 0x8000)) << "no transactions";
  EXPECT_FALSE(takes(skylake(), 0x1D9, 0x4));
}

TEST(MsrMap, TakesLoadLatencyEnablesFromNehalemToSkylake) {
  EXPECT_TRUE(takes(skylake(), 0x3F1, 0xF'0000'000F));
  EXPECT_FALSE(takes(skylake(), 0x3F1, 0x10'0000'0000));
  EXPECT_FALSE(takes(*find_cpu_model("goldmont"), 0x3F1, 0x1'0000'0001));
  EXPECT_FALSE(takes(skylake(), 0x3F1, std::uint64_t{1} << 63)) << "precise store is Sandy Bridge's";
  EXPECT_TRUE(find_msr(skylake(), 0x3F6));
  EXPECT_FALSE(find_msr(*find_cpu_model("core2"), 0x3F6));
}

TEST(MsrMap, HasAdaptivePebsWithBaselineOnly) {
  const CpuModel& icelake = *find_cpu_model("icelake-server");
  EXPECT_TRUE(takes(icelake, 0x3F1, 0xF'0000'00FF)) << "counters, not load latency";
  EXPECT_TRUE(takes(icelake, 0x3F2, 0xFF00'000F));
  EXPECT_FALSE(takes(icelake, 0x3F2, 0x10));
  EXPECT_TRUE(takes(icelake, 0x186, 0x4'0041'00C0));
  EXPECT_TRUE(takes(icelake, 0x38D, 0x1111'0000'0000));
  EXPECT_FALSE(find_msr(skylake(), 0x3F2));
  EXPECT_FALSE(takes(skylake(), 0x186, 0x4'0041'00C0));
  EXPECT_FALSE(takes(skylake(), 0x38D, 0x1'0000'0000));
}

TEST(MsrMap, TakesAnyThreadInPerfmon3And4Only) {
  EXPECT_FALSE(takes(*find_cpu_model("core2"), 0x186, 0x20'0000));
  EXPECT_TRUE(takes(westmere(), 0x186, 0x20'0000));
  EXPECT_TRUE(takes(skylake(), 0x38D, 0x4));
  EXPECT_FALSE(takes(*find_cpu_model("icelake-server"), 0x186, 0x20'0000));
  EXPECT_FALSE(takes(*find_cpu_model("icelake-server"), 0x38D, 0x4));
}

TEST(MsrMap, HasLastBranchRecordsWhereTheirKindHasThem) {
  const CpuModel &core2 = *find_cpu_model("core2"), &sapphire = *find_cpu_model("sapphire-rapids");
  EXPECT_TRUE(find_msr(core2, 0x43));
  EXPECT_FALSE(find_msr(core2, 0x44));
  EXPECT_FALSE(find_msr(core2, 0x680));
  EXPECT_FALSE(find_msr(core2, 0x1C8));
  EXPECT_TRUE(find_msr(sapphire, 0x14CE));
  EXPECT_TRUE(find_msr(sapphire, 0x151F));
  EXPECT_FALSE(find_msr(sapphire, 0x1520));
  EXPECT_FALSE(find_msr(sapphire, 0x680));
  EXPECT_FALSE(find_msr(sapphire, 0x1C9));
  EXPECT_FALSE(find_msr(skylake(), 0x14CE));
}

TEST(MsrMap, TakesTheDepthsThatCpuidListsOnly) {
  const CpuModel& sapphire = *find_cpu_model("sapphire-rapids");
  for (std::uint64_t depth = 0; depth <= 72; ++depth) {
    EXPECT_EQ(takes(sapphire, 0x14CF, depth), depth == 8 || depth == 16 || depth == 32) << depth;
  }
}

TEST(MsrMap, TakesPebsForTheFirstFourOfEightCountersOnly) {
  EXPECT_TRUE(takes(skylake(), 0x3F1, 0x8));
  EXPECT_FALSE(takes(skylake(), 0x3F1, 0x10));
  EXPECT_TRUE(takes(*find_cpu_model("goldmont"), 0x3F1, 0x1));
  EXPECT_FALSE(takes(*find_cpu_model("goldmont"), 0x3F1, 0x2));
}

TEST(MsrMap, TakesCallStackModeFromHaswellOn) {
  EXPECT_TRUE(takes(haswell(), 0x1C8, 0x3C4));
  EXPECT_FALSE(takes(westmere(), 0x1C8, 0x200));
  EXPECT_TRUE(takes(westmere(), 0x1C8, 0x1FF));
}

TEST(MsrMap, TakesCanonicalAddressesOnlyForDsArea) {
  EXPECT_TRUE(takes(skylake(), 0x600, 0x7FFF'FFFF'FFFF));
  EXPECT_TRUE(takes(skylake(), 0x600, 0xFFFF'8000'0000'0000));
  EXPECT_FALSE(takes(skylake(), 0x600, 0x8000'0000'0000));
  EXPECT_FALSE(takes(skylake(), 0x600, 0x1'0000'0000'0000));
}

TEST(MsrMap, TakesTheMispredictFlagAboveALbrAddressInFormats3And4Only) {
  const std::uint64_t mispredicted = 0x8000'0000'0040'1000;
  EXPECT_TRUE(takes(westmere(), 0x680, mispredicted));
  EXPECT_TRUE(takes(haswell(), 0x680, mispredicted));
  EXPECT_FALSE(takes(skylake(), 0x680, mispredicted));
  EXPECT_FALSE(takes(westmere(), 0x6C0, mispredicted)) << "TO has no flags";
}

// Without transactions bits 62:61 are part of the sign, although the processor itself leaves them 0.
TEST(MsrMap, RefusesOnHaswellWithoutTransactionsAKernelAddressAsItsLbrCapturesIt) {
  EXPECT_FALSE(takes(haswell(), 0x680, 0x9FFF'8000'0000'1000));
  EXPECT_TRUE(takes(haswell(), 0x680, 0xFFFF'8000'0000'1000));
  EXPECT_TRUE(takes(haswell(), 0x680, 0x7FFF'8000'0000'1000));
}

TEST(LbrFormats, GiveTheAddressBackWithoutItsFlags) {
  EXPECT_EQ(lbr_from_address(LbrFormat::Flags, 0x8000'0000'0040'1000), 0x40'1000U);
  EXPECT_EQ(lbr_from_address(LbrFormat::Flags, 0x7FFF'FFFF'8100'0000), 0xFFFF'FFFF'8100'0000U);
  EXPECT_EQ(lbr_from_address(LbrFormat::TsxFlags, 0x9FFF'FFFF'8100'0000), 0xFFFF'FFFF'8100'0000U);
  EXPECT_EQ(lbr_from_address(LbrFormat::Info, 0x40'1000), 0x40'1000U);
}

TEST(Linear, IsCanonicalWhenItsTop17BitsAreEqual) {
  EXPECT_TRUE(is_canonical(0));
  EXPECT_TRUE(is_canonical(0x7FFF'FFFF'FFFF));
  EXPECT_FALSE(is_canonical(0x8000'0000'0000));
  EXPECT_TRUE(is_canonical(0xFFFF'FFFF'FFFF'FFFF));
  EXPECT_FALSE(is_canonical(0xFFFF'7FFF'FFFF'FFFF));
}

}  // namespace
}  // namespace zs::arch
