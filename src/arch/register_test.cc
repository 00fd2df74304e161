#include "arch/register.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "arch/msrs.h"

namespace zs::arch {
namespace {

using ::testing::ElementsAre;

template <typename R, typename F> concept HasField = requires(R value, F field) { value.get(field); };
static_assert(HasField<PerfEvtSel, decltype(PerfEvtSel::event)>);
static_assert(!HasField<PerfEvtSel, decltype(GlobalCtrl::general)>, "a field of another register must not compile");

template <typename R>
std::vector<std::string> print(R value) {
  std::vector<std::string> words;
  value.for_each_set_field([&](const char* name, int index, std::uint64_t field) {
    words.push_back(std::string(name) + (index < 0 ? "" : std::to_string(index)) + "=" + std::to_string(field));
  });
  return words;
}

TEST(Register, ReadsAFieldThatItWasGiven) {
  constexpr auto select = PerfEvtSel{}.with(PerfEvtSel::event, 0xC4).with(PerfEvtSel::cmask, 0xFF);
  EXPECT_EQ(select.get(PerfEvtSel::event), 0xC4U);
  EXPECT_EQ(select.get(PerfEvtSel::cmask), 0xFFU);
  EXPECT_FALSE(select.has(PerfEvtSel::enable));
}

TEST(Register, ReplacesAFieldAndLeavesItsNeighboursAlone) {
  const auto select = PerfEvtSel{~0ULL}.with(PerfEvtSel::umask, 0);
  EXPECT_EQ(select.raw(), 0xFFFF'FFFF'FFFF'00FFULL);
}

TEST(Register, PrintsOnlyTheFieldsThatAreSet) {
  EXPECT_THAT(print(PerfEvtSel{0x41'20D1}), ElementsAre("EVENT=209", "UMASK=32", "USR=1", "EN=1"));
}

TEST(Register, PrintsABitThatRepeatsWithItsCounter) {
  // The counter tutorial's value: three counters in user mode and, though its text does not say so, a PMI on the first.
  EXPECT_THAT(print(FixedCtrCtrl{0x22A}), ElementsAre("USR0=1", "USR1=1", "USR2=1", "PMI0=1"));
}

TEST(Register, CallsReservedWhateverNoFieldNames) {
  EXPECT_EQ(FixedCtrCtrl::reserved(), 0xFFFF'EEEE'FFFF'0000ULL);
  EXPECT_EQ(DebugCtl::reserved(), ~0xFFC3ULL);
}

TEST(RegisterDeathTest, RefusesAValueTooWideForItsField) {
  volatile std::uint64_t wide = 0x100;
  EXPECT_DEATH((void)PerfEvtSel{}.with(PerfEvtSel::event, wide), "value <=");
}

TEST(MsrBlock, ContainsItsRegistersOnly) {
  EXPECT_FALSE(PerfEvtSel::msrs.contains(0x185));
  EXPECT_TRUE(PerfEvtSel::msrs.contains(0x186));
  EXPECT_TRUE(PerfEvtSel::msrs.contains(0x18D));
  EXPECT_FALSE(PerfEvtSel::msrs.contains(0x18E));
}

}  // namespace
}  // namespace zs::arch
