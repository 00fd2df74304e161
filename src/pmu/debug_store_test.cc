#include "pmu/debug_store.h"

#include <gtest/gtest.h>

#include <span>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using Outcome = DebugStore::Outcome;

constexpr std::uint64_t kDs = FakeMemory::kStart;
constexpr std::uint64_t kBuffer = FakeMemory::kStart + 0x100;

arch::PebsV3 record_at(std::uint64_t eventing_ip) {
  arch::PebsV3 record{};
  record.v2.eventing_ip = eventing_ip;
  return record;
}

/// A management area whose PEBS buffer is as given.
FakeMemory memory_with(const arch::DsBuffer& pebs) {
  FakeMemory memory;
  arch::DsManagementArea area{};
  area.pebs = pebs;
  for (std::size_t n = 0; n < area.pebs_reset.size(); ++n) area.pebs_reset[n] = 0x1000 + n;
  memory.put(kDs, area);
  return memory;
}

std::uint64_t index(FakeMemory& memory) { return memory.get<std::uint64_t>(kDs + 0x28); }

/// A store for a processor with 200-byte records.
struct Store : DebugStore {
  explicit Store(FakeMemory& memory, std::uint64_t area = kDs)
      : DebugStore(memory, *arch::find_cpu_model("skylake-server")) {
    set_address(area);
  }
  Outcome write(const arch::PebsV3& record) { return store_pebs(std::as_bytes(std::span{&record, 1})); }
};

TEST(DebugStorePebs, MovesTheIndexBehindTheRecord) {
  FakeMemory memory =
      memory_with({.base = kBuffer, .index = kBuffer, .maximum = kBuffer + 400, .threshold = kBuffer + 1000});
  Store store{memory};
  EXPECT_EQ(store.write(record_at(0x401000)), Outcome::Stored);
  EXPECT_EQ(index(memory), kBuffer + 200);
  EXPECT_EQ(store.write(record_at(0x401004)), Outcome::Stored);
  EXPECT_EQ(index(memory), kBuffer + 400);
  EXPECT_EQ(memory.get<arch::PebsV3>(kBuffer).v2.eventing_ip, 0x401000U);
  EXPECT_EQ(memory.get<arch::PebsV3>(kBuffer + 200).v2.eventing_ip, 0x401004U);
}

TEST(DebugStorePebs, KnowsHowManyRecordsStayBelowTheThreshold) {
  const auto room = [](std::uint64_t index, std::uint64_t maximum, std::uint64_t threshold) {
    FakeMemory memory = memory_with(
        {.base = kBuffer, .index = kBuffer + index, .maximum = kBuffer + maximum, .threshold = kBuffer + threshold});
    Store store{memory};
    const std::uint64_t expected = store.room_below_threshold(200);
    std::uint64_t stored = 0;
    while (stored < 10 && store.write(record_at(0x401000)) == Outcome::Stored) ++stored;
    EXPECT_EQ(stored, expected);
    return expected;
  };
  EXPECT_EQ(room(0, 1000, 600), 2U);
  EXPECT_EQ(room(0, 1000, 601), 3U);
  EXPECT_EQ(room(400, 1000, 600), 0U);
  EXPECT_EQ(room(0, 399, 1000), 1U);
  EXPECT_EQ(room(600, 1000, 600), 0U);
  EXPECT_EQ(room(600, 400, 1000), 0U);
}

TEST(DebugStorePebs, LooksForRoomWithoutAFaultOfItsOwn) {
  FakeMemory memory = memory_with({});
  Store store{memory, 0x10};
  EXPECT_EQ(store.room_below_threshold(200), 0U);
  EXPECT_EQ(store.take_fault(), std::nullopt);
}

TEST(DebugStorePebs, DropsARecordThatWouldPassTheAbsoluteMaximum) {
  FakeMemory memory =
      memory_with({.base = kBuffer, .index = kBuffer, .maximum = kBuffer + 399, .threshold = kBuffer + 1000});
  Store store{memory};
  EXPECT_EQ(store.write(record_at(0x401000)), Outcome::Stored);
  EXPECT_EQ(store.write(record_at(0x401004)), Outcome::Full);
  EXPECT_EQ(index(memory), kBuffer + 200);
  for (std::uint64_t address = kBuffer + 200; address < kBuffer + 600; ++address) {
    ASSERT_EQ(memory.get<std::uint8_t>(address), 0xEE) << "written past the end, at " << std::hex << address;
  }
}

// The manual asks for "a multiple of the record size plus 1"; drivers leave the 1 out.
TEST(DebugStorePebs, TakesAMaximumWithAndWithoutThePlus1) {
  for (const std::uint64_t maximum : {kBuffer + 200, kBuffer + 201}) {
    FakeMemory memory =
        memory_with({.base = kBuffer, .index = kBuffer, .maximum = maximum, .threshold = kBuffer + 1000});
    Store store{memory};
    EXPECT_EQ(store.write(record_at(0x401000)), Outcome::Stored);
    EXPECT_EQ(store.write(record_at(0x401004)), Outcome::Full);
  }
}

TEST(DebugStorePebs, SaysWhenTheIndexReachesTheThreshold) {
  FakeMemory memory =
      memory_with({.base = kBuffer, .index = kBuffer, .maximum = kBuffer + 800, .threshold = kBuffer + 400});
  Store store{memory};
  EXPECT_EQ(store.write(record_at(1)), Outcome::Stored);
  EXPECT_EQ(store.write(record_at(2)), Outcome::ReachedThreshold);
  EXPECT_EQ(store.write(record_at(3)), Outcome::ReachedThreshold);
}

TEST(DebugStorePebs, DropsWhileTheIndexIsOutsideTheBuffer) {
  for (const std::uint64_t index : {kBuffer - 8, kBuffer + 1001}) {
    FakeMemory memory =
        memory_with({.base = kBuffer, .index = index, .maximum = kBuffer + 1000, .threshold = kBuffer + 200});
    Store store{memory};
    EXPECT_EQ(store.write(record_at(1)), Outcome::OutOfBounds);
  }
}

TEST(DebugStorePebs, DoesNotWrapAroundTheAddressSpaceNearItsEnd) {
  const std::uint64_t top = ~std::uint64_t{0};
  FakeMemory memory = memory_with({.base = top - 100, .index = top - 100, .maximum = top, .threshold = 0});
  Store store{memory};
  EXPECT_EQ(store.write(record_at(1)), Outcome::Full);
}

TEST(DebugStorePebs, FaultsWhenTheAreaOrTheBufferIsNotMapped) {
  FakeMemory memory = memory_with({.base = 0x10, .index = 0x10, .maximum = 0x1000, .threshold = 0x1000});
  Store store{memory};
  EXPECT_EQ(store.write(record_at(1)), Outcome::Faulted) << "no buffer";
  EXPECT_EQ(index(memory), 0x10U);
  store.set_address(0);
  EXPECT_EQ(store.write(record_at(1)), Outcome::Faulted) << "no area";
  EXPECT_FALSE(store.reset_value(0));
}

TEST(DebugStorePebs, ReadsTheResetValueOfEachCounterFromItsSlot) {
  FakeMemory memory = memory_with({});
  Store store{memory};
  for (unsigned n = 0; n < 8; ++n) EXPECT_EQ(store.reset_value(n), 0x1000U + n);
}

TEST(DebugStorePebs, KeepsTheFirstFaultForTheProcessor) {
  FakeMemory memory = memory_with({.base = 0x10, .index = 0x20, .maximum = 0x1000, .threshold = 0x1000});
  Store store{memory};
  EXPECT_FALSE(store.take_fault());
  store.write(record_at(1));
  store.set_address(0x77);
  store.write(record_at(1));
  const auto fault = store.take_fault();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->address, 0x20U);
  EXPECT_EQ(fault->bytes, 200U);
  EXPECT_TRUE(fault->write);
  EXPECT_FALSE(store.take_fault());
}

}  // namespace
}  // namespace zs::pmu
