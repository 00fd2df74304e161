#include "uarch/store_buffer/store_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "uarch/reference/memory_kernels.h"
#include "uarch/reference/plain_parts.h"

namespace zs::uarch {
namespace {

static_assert(meeting(0x1000, 8, 0x1000, 8) == Forwarding::Forwarded);
static_assert(meeting(0x1000, 8, 0x1004, 4) == Forwarding::Forwarded);
static_assert(meeting(0x1000, 8, 0x1004, 8) == Forwarding::Blocked);
static_assert(meeting(0x1004, 4, 0x1000, 8) == Forwarding::Blocked);
static_assert(meeting(0x1000, 8, 0x2000, 8) == Forwarding::Alias);
static_assert(meeting(0x1FFC, 8, 0x3000, 4) == Forwarding::Alias);  // across the end of 4 KiB
static_assert(meeting(0x1000, 8, 0x1008, 8) == Forwarding::None);
static_assert(meeting(0x1000, 8, 0x0FF8, 8) == Forwarding::None);

TEST(StoreBuffer, CommitsInOrderOneACycleNotBeforeRetirementAndOwnership) {
  StoreBuffer stores(4, 20);
  EXPECT_EQ(stores.push({0, 0, 8}, 100, 104), 120U);
  EXPECT_EQ(stores.push({8, 0, 8}, 100, 300), 300U);
  EXPECT_EQ(stores.push({16, 0, 8}, 101, 105), 301U);
  EXPECT_EQ(stores.free_at(102), 102U);
  EXPECT_EQ(stores.push({24, 0, 8}, 102, 106), 302U);
  EXPECT_EQ(stores.free_at(103), 120U);
  EXPECT_EQ(stores.free_at(200), 200U);
  EXPECT_EQ(stores.push({32, 400, 8}, 110, 114), 400U) << "not before it has its data";
}

TEST(StoreBuffer, CommitsAStoreOfTwoLinesInTwoCycles) {
  StoreBuffer stores(4, 20);
  EXPECT_EQ(stores.push({56, 0, 8}, 100, 104), 120U);
  EXPECT_EQ(stores.push({60, 0, 8}, 100, 104), 122U);
  EXPECT_EQ(stores.push({64, 0, 8}, 100, 104), 123U);
}

TEST(StoreBuffer, IsEmptyBehindALockedInstructionWhichWaitsForDataAndOwnershipAlone) {
  StoreBuffer stores(4, 20);
  stores.push({0x1000, 110, 8}, 100, 104);
  stores.push({0x1008, 101, 8}, 100, 104);
  EXPECT_EQ(stores.drain(102), 111U);
  EXPECT_EQ(stores.meet(0x1000, 8, 112, 0), Met{});
  EXPECT_EQ(stores.free_at(112), 112U);
  EXPECT_EQ(stores.push({0x1000, 113, 8}, 112, 116), 132U);
  EXPECT_EQ(stores.drain(500), 500U);
}

TEST(StoreBuffer, TheYoungestStoreWithTheLoadsLowBitsDecides) {
  StoreBuffer stores(8, 20);
  stores.push({0x1000, 108, 8}, 100, 100);
  stores.push({0x1000, 109, 4}, 101, 101);
  EXPECT_EQ(stores.meet(0x1000, 8, 102, 0), (Met{Forwarding::Blocked, 109}));
  EXPECT_EQ(stores.meet(0x1004, 4, 102, 0), (Met{Forwarding::Forwarded, 108}));  // the older one
  stores.push({0x5004, 0, 4}, 103, 103);
  EXPECT_EQ(stores.meet(0x1004, 4, 104, 0), (Met{Forwarding::Alias, 0}));
  EXPECT_EQ(stores.meet(0x1004, 4, 1000, 0), Met{});
}

TEST(StoreBuffer, ABlockedLoadWaitsUntilItsStoreCouldCommitAndHoldsThoseBehindIt) {
  StoreBuffer stores(8, 20);
  stores.push({0x1000, 108, 4}, 100, 130);  // its line comes late
  EXPECT_EQ(stores.meet(0x1000, 8, 102, 0), (Met{Forwarding::Blocked, 130}));
  stores.hold(147);  // that load has its data
  stores.push({0x2000, 109, 4}, 101, 105);
  EXPECT_EQ(stores.meet(0x2000, 8, 103, 0), (Met{Forwarding::Blocked, 147}));
  EXPECT_EQ(stores.meet(0x2000, 4, 103, 0), (Met{Forwarding::Forwarded, 109})) << "what is forwarded waits for nothing";
  EXPECT_EQ(stores.push({0x3000, 109, 8}, 102, 105), 148U);
}

/// The tests that spare a load the search: they may say "perhaps", but not always.
TEST(StoreBuffer, KnowsWithoutASearchThatALoadMeetsNothing) {
  StoreBuffer stores(4, 20);
  const auto perhaps = [&stores](std::uint64_t linear, std::uint64_t now) {
    const bool ever = stores.may_ever_meet(linear, 8), then = stores.may_meet(linear, 8, now);
    EXPECT_EQ(stores.may_meet_from(linear, 8, now), then);
    EXPECT_TRUE(ever || !then);
    return std::pair{ever, then};
  };
  EXPECT_EQ(perhaps(0x1000, 0), (std::pair{false, false}));
  stores.push({0x1000, 0, 8}, 100, 104);  // commits in cycle 120
  EXPECT_EQ(perhaps(0x1000, 110), (std::pair{true, true}));
  EXPECT_EQ(perhaps(0x5000, 110), (std::pair{true, true}));  // an alias
  EXPECT_EQ(perhaps(0x1010, 110), (std::pair{false, false}));
  EXPECT_EQ(perhaps(0x1000, 120), (std::pair{true, false}));
  for (std::uint64_t i = 1; i <= 4; ++i) stores.push({0x1000 + 64 * i, 0, 8}, 200 + i, 204 + i);
  EXPECT_EQ(perhaps(0x1000, 205), (std::pair{false, false}));  // its entry is another's
  stores.drain(300);
  EXPECT_EQ(perhaps(0x1040, 205), (std::pair{false, false}));
}

TEST(StoreBuffer, AgreesWithThePlainOneAtEveryLoad) {
  StoreBuffer fast(56, 20);
  PlainStores plain(56, 20);
  Random chance(3);
  std::uint64_t now = 0;
  for (unsigned i = 0; i < 1'000'000; ++i) {
    now += chance.below(5);
    const std::uint64_t linear = 0x10'0000 + chance.below(3) * 4096 + chance.below(256);
    const auto bytes = static_cast<std::uint32_t>(1 + chance.below(chance.below(4) == 0 ? 64 : 8));
    const auto place = static_cast<std::uint16_t>(chance.below(4));
    if (chance.below(200) == 0) {
      ASSERT_EQ(fast.drain(now), plain.drain(now));
    }
    if (chance.below(2) == 0) {
      ASSERT_EQ(fast.free_at(now), plain.free_at(now));
      now = fast.free_at(now);
      const std::uint64_t owned = now + (chance.below(50) == 0 ? 300 : 4);
      const std::uint64_t ready = now + chance.below(chance.below(9) == 0 ? 400 : 9);
      ASSERT_EQ(fast.push({linear, ready, bytes, place}, now, owned),
                plain.push({linear, ready, bytes, place}, now, owned));
    } else {
      const Met met = plain.meet(linear, bytes, now, place);
      if (met.how == Forwarding::Blocked && chance.below(2) == 0) {
        fast.hold(met.ready + 17);
        plain.hold(met.ready + 17);
      }
      ASSERT_EQ(fast.meet(linear, bytes, now, place), met) << i;
      ASSERT_TRUE(fast.may_meet(linear, bytes, now) || met.how == Forwarding::None) << i;
    }
  }
}

}  // namespace
}  // namespace zs::uarch
