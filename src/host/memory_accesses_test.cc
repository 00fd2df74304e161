#include "host/memory_accesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/fake_pmus.h"

namespace zs::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refused(const MemoryAccesses& wanted, const FakePmus& pmus) {
  const auto lists = memory_access_events(wanted, pmus.folder());
  return lists ? "" : lists.error().message + " | " + lists.error().hint;
}

TEST(MemoryAccesses, AreThoseThatPerfOpens) {
  FakePmus skylake("skylake");
  skylake.add("cpu", "4", {{"mem-loads", "event=0xcd,umask=0x1,ldlat=3"}, {"mem-stores", "event=0xd0,umask=0x82"}});
  EXPECT_THAT(*memory_access_events({}, skylake.folder()), ElementsAre("cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P"));
  EXPECT_THAT(*memory_access_events({.stores = false, .latency_threshold = 50}, skylake.folder()),
              ElementsAre("cpu/mem-loads,ldlat=50/P"));
  EXPECT_THAT(*memory_access_events({.loads = false}, skylake.folder()), ElementsAre("cpu/mem-stores/P"));

  FakePmus sapphire_rapids("sapphire_rapids");
  sapphire_rapids.add("cpu", "4",
                      {{"mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
                       {"mem-loads-aux", "event=0x03,umask=0x82"},
                       {"mem-stores", "event=0xcd,umask=0x2"}});
  EXPECT_THAT(*memory_access_events({}, sapphire_rapids.folder()),
              ElementsAre("{cpu/mem-loads-aux/P,cpu/mem-loads,ldlat=30/P}", "cpu/mem-stores/P"));

  FakePmus alder_lake("alder_lake");
  alder_lake.add("cpu_core", "4",
                 {{"mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
                  {"mem-loads-aux", "event=0x03,umask=0x82"},
                  {"mem-stores", "event=0xcd,umask=0x2"}});
  alder_lake.add("cpu_atom", "8",
                 {{"mem-loads", "event=0xd0,umask=0x5,ldlat=3"}, {"mem-stores", "event=0xd0,umask=0x6"}});
  EXPECT_THAT(*memory_access_events({}, alder_lake.folder()),
              ElementsAre("{cpu_core/mem-loads-aux/P,cpu_core/mem-loads,ldlat=30/P}", "cpu_core/mem-stores/P",
                          "cpu_atom/mem-loads,ldlat=30/P", "cpu_atom/mem-stores/P"));

  FakePmus zen("zen");
  zen.add("cpu", "4", {});
  zen.add("ibs_op", "11", {});
  EXPECT_THAT(*memory_access_events({}, zen.folder()), ElementsAre("ibs_op//"));
  EXPECT_THAT(refused({.loads = false}, zen),
              HasSubstr("ibs_op//: this processor samples ops, loads and stores alike"));
  EXPECT_THAT(refused({.threshold_said = true}, zen), HasSubstr("ibs_op//: this processor samples ops whatever"));
}

/// The attrs themselves: the numbers that perf record -vv prints for these events.
TEST(MemoryAccesses, GroupsAndNumbersAreTheProcessors) {
  FakePmus pmus("numbers");
  pmus.add("cpu", "4",
           {{"mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
            {"mem-loads-aux", "event=0x03,umask=0x82"},
            {"mem-stores", "event=0xcd,umask=0x2"}});
  const auto loads = parse_kernel_events(memory_access_events({}, pmus.folder())->front(), pmus.folder());
  ASSERT_TRUE(loads) << loads.error().message;
  ASSERT_EQ(loads->size(), 2u);
  EXPECT_EQ((*loads)[0].attr.type, 4u);
  EXPECT_EQ((*loads)[0].attr.config, 0x8203u);
  EXPECT_EQ((*loads)[0].leader, 0u);
  EXPECT_EQ((*loads)[1].attr.config, 0x1cdu);
  EXPECT_EQ((*loads)[1].attr.config1, 30u);
  EXPECT_EQ((*loads)[1].leader, 0u);
  EXPECT_TRUE((*loads)[0].most_precise && (*loads)[1].most_precise);
  const auto stores = parse_kernel_events("cpu/mem-stores/P", pmus.folder());
  EXPECT_EQ(stores->front().attr.config, 0x2cdu);
  EXPECT_EQ(stores->front().attr.config1, 0u);
  pmus.add("ibs_op", "11", {});
  const auto ops = parse_kernel_events("ibs_op//", pmus.folder());
  ASSERT_TRUE(ops) << ops.error().message;
  EXPECT_EQ(ops->front().attr.type, 11u);
  EXPECT_EQ(ops->front().attr.config, 0u);
  EXPECT_FALSE(ops->front().most_precise);
}

TEST(MemoryAccesses, WhatIsNotThereIsNamed) {
  FakePmus none("none");
  EXPECT_THAT(refused({}, none), HasSubstr("mem-loads, mem-stores: no PMU of this machine has such events"));
  EXPECT_THAT(refused({.stores = false}, none), HasSubstr("mem-loads: no PMU"));
  EXPECT_THAT(refused({.loads = false}, none), HasSubstr("mem-stores: no PMU"));
}

}  // namespace
}  // namespace zs::host
