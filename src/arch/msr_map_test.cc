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
        const auto found = find_msr(model, fact.first + i);
        ASSERT_TRUE(found) << model.name << ' ' << fact.name << i;
        EXPECT_EQ(found->fact, &fact);
        EXPECT_EQ(found->index, i);
      }
      const auto behind = find_msr(model, fact.first + count);
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
          EXPECT_EQ(takes(model, fact.first + i, std::uint64_t{1} << bit), (writable >> bit & 1) != 0)
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

TEST(MsrMap, HasNoBtsYet) {
  EXPECT_TRUE(takes(skylake(), 0x1D9, 0x5801));
  EXPECT_FALSE(takes(skylake(), 0x1D9, 0xC0));
  EXPECT_FALSE(takes(skylake(), 0x1D9, 0x1C0));
}

TEST(MsrMap, HasNoLoadLatencyYet) {
  EXPECT_TRUE(takes(skylake(), 0x3F1, 0xF));
  EXPECT_FALSE(takes(skylake(), 0x3F1, 0x1'0000'0001));
  EXPECT_FALSE(find_msr(skylake(), 0x3F6));
}

TEST(MsrMap, TakesPebsForTheFirstFourOfEightCountersOnly) {
  EXPECT_TRUE(takes(skylake(), 0x3F1, 0x8));
  EXPECT_FALSE(takes(skylake(), 0x3F1, 0x10));
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
