// The precise-store facility of Sandy Bridge and Ivy Bridge: MEM_TRANS_RETIRED.PRECISE_STORE on PMC3 with
// PEBS_ENABLE[3] and [63]. source: SDM vol. 3B, "Precise Store Facility" of Sandy Bridge; table "Layout of Precise
// Store Information In PEBS Record".
#include <gtest/gtest.h>

#include "arch/records/pebs_decode.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

constexpr std::uint32_t kPmc3 = 0xC4, kSelect3 = 0x189;
constexpr std::uint64_t kPreciseStore = 0x41'02CD, kFacility = std::uint64_t{1} << 63;

arch::Retired store_at(std::uint64_t ip, std::uint64_t address) {
  arch::Retired r;
  r.ip = ip;
  r.next_ip = ip + 4;
  r.store_count = r.stores = 1;
  r.data_address = r.store_address = address;
  return r;
}

/// What a core model says of a locked store that missed L1D and walked the page tables.
constexpr arch::AccessOutcome kFarStore{
    .present = true,
    .latency = 200,
    .source = {.level = arch::DataLevel::Dram, .tlb = arch::DataTlb::Walk, .locked = true}};

/// The record of the second of two read-modify-writes; their loads have a latency and a source.
std::optional<arch::PebsFields> recorded(TestPmu& t, std::uint64_t enable, const arch::AccessOutcome& store = {}) {
  t.set_up_ds(4, 5);
  t.wr(kSelect3, kPreciseStore);
  t.wr(kPmc3, 0xFFFF'FFFF);
  t.wr(kPebsEnable, enable);
  t.wr(kGlobal, 8);
  for (const std::uint64_t ip : {0x1000, 0x1004}) {
    arch::Retired r = store_at(ip, 0x7000 + ip);
    r.load_count = r.loads = 1;
    r.data_address = 0x9000;
    r.load = {.present = true, .latency = 99, .source = {.level = arch::DataLevel::L3}};
    r.store = store;
    t.retire(r);
  }
  std::vector<std::byte> bytes(176);
  CHECK(t.memory.read(TestPmu::kRecords, bytes));
  return arch::decode_pebs(bytes, t.model.pebs_format(), t.layout());
}

TEST(PreciseStore, RecordsTheStoresAddressAndSaysThatItsWayIsNotKnown) {
  TestPmu t{"ivybridge"};
  const auto fields = recorded(t, 8 | kFacility);
  EXPECT_EQ(t.index() - TestPmu::kRecords, 176U);
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->data_address, 0x8004U) << "the store's, not the load's";
  EXPECT_EQ(fields->data_source, 0U);
  EXPECT_EQ(fields->latency, 0U);
}

TEST(PreciseStore, SaysWhetherTheStoreHitWalkedAndWasLockedIfACoreModelKnows) {
  TestPmu t{"ivybridge"};
  EXPECT_EQ(recorded(t, 8 | kFacility, kFarStore)->data_source, 0x30U);
  TestPmu near{"ivybridge"};
  EXPECT_EQ(recorded(near, 8 | kFacility, {.present = true, .source = {.level = arch::DataLevel::L1}})->data_source,
            0x01U);
  TestPmu unprepared{"ivybridge"};
  EXPECT_EQ(recorded(unprepared, 8, kFarStore)->data_source, 0U);
}

TEST(PreciseStore, WithoutTheFacilityTheEventsRecordHasNoAddress) {
  TestPmu t{"ivybridge"};
  const auto fields = recorded(t, 8);
  EXPECT_EQ(t.index() - TestPmu::kRecords, 176U);
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->data_address, 0U);
}

TEST(PreciseStore, CountsStoresAndNothingElse) {
  TestPmu t{"ivybridge"};
  t.wr(kSelect3, kPreciseStore);
  t.wr(kGlobal, 8);
  t.retire(store_at(0x1000, 0x2000));
  t.retire(load_at(0x1004, 0x2000));
  t.run(3);
  EXPECT_EQ(t.rd(kPmc3), 1U);
}

TEST(PreciseStore, ItsEnableExistsOnIvyBridgeOnly) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    TestPmu t{model, model.quirks};
    EXPECT_EQ(t.write_faults(kPebsEnable, kFacility), !model.precise_store) << model.name;
  }
  TestPmu t{"ivybridge"};
  t.wr(kPebsEnable, kFacility | 0xF'0000'000F);
  EXPECT_EQ(t.rd(kPebsEnable), kFacility | 0xF'0000'000F);
  t.pmu.init();
  EXPECT_EQ(t.rd(kPebsEnable), 0U);
}

TEST(PreciseStore, OtherCountersAreNotChangedByIt) {
  TestPmu t{"ivybridge"};
  t.set_up_ds(4, 5);
  t.wr(kSelect0, kCountInstructions);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.wr(kPebsEnable, 1 | kFacility);
  t.run(2);
  EXPECT_EQ(t.index() - TestPmu::kRecords, 176U);
  EXPECT_EQ(t.rd(kPebsEnable), 1 | kFacility);
}

}  // namespace
}  // namespace zs::pmu
