#include "engine/memory/placement.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace zs::engine {
namespace {

constexpr Layout kLayout{};

TEST(Placement, HasOtherZonesBehindTheOneAskedFor) {
  Placement placement(kLayout);
  EXPECT_EQ(placement.place(Zone::Low, kPageSize, kPageSize), Placement::first_in(kLayout.low));
  EXPECT_EQ(placement.place(Zone::High, kPageSize, kPageSize), kLayout.high.start);
  placement.take(kLayout.low);
  EXPECT_EQ(placement.place(Zone::Low, kPageSize, kPageSize), kLayout.high.start);
  EXPECT_EQ(placement.place(Zone::LowOnly, kPageSize, kPageSize), std::nullopt);
  placement.take(kLayout.high);
  EXPECT_EQ(placement.place(Zone::High, kPageSize, kPageSize), kLayout.spare.start);
  placement.take(kLayout.spare);
  EXPECT_EQ(placement.place(Zone::High, kPageSize, kPageSize), kLayout.vast.start);
  placement.take(kLayout.vast);
  EXPECT_EQ(placement.place(Zone::High, kPageSize, kPageSize), std::nullopt);
}

TEST(Placement, NeverGivesWhatIsReservedEvenWhenWhatWasThereIsGivenBack) {
  Placement placement(kLayout);
  const AddressRange kept{kLayout.high.start, kLayout.high.start + 4 * kPageSize};
  placement.reserve(kept);
  placement.give({kept.start, kept.end + kPageSize});
  EXPECT_EQ(placement.place(Zone::High, kPageSize, kPageSize), kept.end);
  EXPECT_TRUE(placement.is_reserved({kept.end - kPageSize, kept.end}));
  EXPECT_FALSE(placement.is_reserved({kept.end, kept.end + kPageSize}));
  EXPECT_TRUE(placement.is_reserved(kLayout.engine));
}

TEST(Placement, KeepsOffWhatIsToBeAvoidedWhereThereIsRoom) {
  Placement placement(kLayout);
  const std::uint64_t first = Placement::first_in(kLayout.low);
  placement.avoid({first, first + kPageSize});
  EXPECT_EQ(placement.place(Zone::Low, kPageSize, kPageSize), first + kPageSize);
  EXPECT_EQ(placement.place(Zone::Low, 64 << 20, kPageSize), first) << "it is larger than most";
  EXPECT_FALSE(placement.is_reserved({first, first + kPageSize}));
  placement.take({first + kPageSize, kLayout.low.end});
  EXPECT_EQ(placement.place(Zone::LowOnly, kPageSize, kPageSize), first);
}

TEST(Placement, HonoursHintsOnlyWhereTheToolCannotBe) {
  const Placement placement(kLayout);
  const auto honours = [&](std::uint64_t start) { return placement.honours_hint({start, start + kPageSize}); };
  EXPECT_TRUE(honours(0x3100'0000'0000));
  EXPECT_FALSE(honours(0x7000'0000'0000));
  EXPECT_FALSE(honours(kLayout.engine.start));
  EXPECT_FALSE(honours(kLayout.heap.start));
  EXPECT_FALSE(honours(kLayout.stack.start));
  EXPECT_FALSE(placement.honours_hint({0x1'0000, 0x1'0000}));
}

TEST(Placement, KnowsWhatLiesInAZone) {
  const Placement placement(kLayout);
  EXPECT_TRUE(placement.is_in_a_zone({kLayout.spare.end - 1, kLayout.spare.end}));
  EXPECT_FALSE(placement.is_in_a_zone({0x7000'0000'0000, 0x7000'0000'1000}));
  EXPECT_FALSE(placement.is_in_a_zone(kLayout.stack));
}

}  // namespace
}  // namespace zs::engine
