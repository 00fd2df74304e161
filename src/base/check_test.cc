#include "base/check.h"

#include <gtest/gtest.h>

#include <vector>

namespace zs {
namespace {

TEST(Check, PassesWithoutEvaluatingItsValues) {
  int evaluated = 0;
  CHECK(1 + 1 == 2, ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckDeathTest, NamesTheConditionAndThePlace) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), R"(zeroskid: internal error: .*check_test\.cc:[0-9]+: 1 \+ 1 == 3 does not hold)");
}

TEST(CheckDeathTest, PrintsTheValuesInTheOrderGiven) {
  const int events = 7;
  const int room = -3;
  EXPECT_DEATH(CHECK(events <= room, events, room), "events <= room does not hold: events, room = 7, -3\n");
}

TEST(CheckDeathTest, PrintsAddressesInHexadecimal) {
  const std::uint64_t address = 0x7fff'1234'5678;
  EXPECT_DEATH(CHECK(address == 0, address), "address = 0x7fff12345678\n");
}

TEST(CheckDeathTest, EndsAProgramWithItsOwnStatusIfToldSo) {
  const auto fail = [] {
    end_failed_checks_with(125);
    CHECK(1 + 1 == 3);
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(125), "zeroskid: internal error: .* does not hold\n");
}

TEST(CheckDeathTest, EndsAProgramThatThrewForNobodyWithItsOwnStatus) {
  const auto fail = []() noexcept {
    end_failed_checks_with(125);
    static_cast<void>(std::vector<int>().at(1));
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(125), "zeroskid: internal error: out of memory, or an exception");
}

TEST(CheckDeathTest, CutsAnEndlessConditionRatherThanOverrunningItsBuffer) {
  const std::string condition(2000, 'x');
  EXPECT_DEATH(check_failed(condition.c_str(), "file.cc", 1), "file\\.cc:1: x{100,480}\n");
}

}  // namespace
}  // namespace zs
