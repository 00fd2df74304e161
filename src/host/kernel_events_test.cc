#include "host/kernel_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/fake_pmus.h"

namespace zs::host {
namespace {

using ::testing::HasSubstr;

KernelEvent only(std::string_view text) {
  auto events = parse_kernel_events(text);
  EXPECT_TRUE(events) << text;
  EXPECT_EQ(events->size(), 1u);
  return events->front();
}

/// One PMU.
class Pmus : public FakePmus {
 public:
  Pmus() : FakePmus("of_kernel_events") { add("cpu", "4", {{"mem-loads", "event=0xcd,umask=0x1,ldlat=3"}}); }
};

TEST(KernelEvents, NamesAreThoseOfPerf) {
  EXPECT_EQ(only("cpu-clock").attr.type, PERF_TYPE_SOFTWARE);
  EXPECT_EQ(only("cpu-clock").attr.config, PERF_COUNT_SW_CPU_CLOCK);
  EXPECT_EQ(only("FAULTS").attr.config, PERF_COUNT_SW_PAGE_FAULTS);
  EXPECT_EQ(only("branch-misses").attr.type, PERF_TYPE_HARDWARE);
  EXPECT_EQ(only("LLC-load-misses").attr.type, PERF_TYPE_HW_CACHE);
  EXPECT_EQ(only("LLC-load-misses").attr.config, 0x10002u);
  EXPECT_EQ(only("dTLB-store-misses").attr.config, 0x10103u);
  EXPECT_EQ(only("r20d1").attr.type, PERF_TYPE_RAW);
  EXPECT_EQ(only("r20d1").attr.config, 0x20d1u);
}

TEST(KernelEvents, ModifiersChooseRingsAndPrecision) {
  const KernelEvent user = only("cycles:upp");
  EXPECT_TRUE(user.rings_said);
  EXPECT_EQ(user.attr.exclude_user, 0u);
  EXPECT_EQ(user.attr.exclude_kernel, 1u);
  EXPECT_EQ(user.attr.precise_ip, 2u);
  EXPECT_TRUE(only("cycles:P").most_precise);
  EXPECT_FALSE(only("cycles").rings_said);
  EXPECT_FALSE(parse_kernel_events("cycles:pppp"));
  EXPECT_FALSE(parse_kernel_events("cycles:x"));
}

TEST(KernelEvents, GroupsHaveALeader) {
  const auto events = parse_kernel_events("faults,{cycles:u,instructions:u},cs");
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 4u);
  EXPECT_EQ((*events)[0].leader, 0u);
  EXPECT_EQ((*events)[1].leader, 1u);
  EXPECT_EQ((*events)[2].leader, 1u);
  EXPECT_EQ((*events)[3].leader, 3u);
}

TEST(KernelEvents, APmuDescribesItsTerms) {
  const Pmus pmus;
  const auto listed = parse_kernel_events("cpu/mem-loads,ldlat=30/pp", pmus.folder());
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->front().attr.type, 4u);
  EXPECT_EQ(listed->front().attr.config, 0x1cdu);
  EXPECT_EQ(listed->front().attr.config1, 30u);
  EXPECT_EQ(listed->front().attr.precise_ip, 2u);
  const auto wide = parse_kernel_events("cpu/event=0x1c0,name=mine/", pmus.folder());
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->front().attr.config, 0x1'0000'00c0u);
  EXPECT_EQ(wide->front().name, "mine");
}

TEST(KernelEvents, WhatIsNotThereIsRefusedByName) {
  const Pmus pmus;
  const auto message = [&](std::string_view text) {
    const auto events = parse_kernel_events(text, pmus.folder());
    return events ? "" : events.error().message + " | " + events.error().hint;
  };
  EXPECT_THAT(message("cpu-clok"), HasSubstr("cpu-clok: perf_event_open has no event"));
  EXPECT_THAT(message("cloc"), HasSubstr("known: cpu-clock, task-clock"));
  EXPECT_THAT(message("gpu/x/"), HasSubstr("no PMU called gpu"));
  EXPECT_THAT(message("cpu/nothing=1/"), HasSubstr("knows no nothing=1"));
  EXPECT_THAT(message("cpu/umask=0x100/"), HasSubstr("too large"));
  EXPECT_THAT(message("{cycles"), HasSubstr("without its }"));
  EXPECT_THAT(message("cycles}"), HasSubstr("without its {"));
  EXPECT_THAT(message("cycles,,faults"), HasSubstr("missing at a comma"));
}

}  // namespace
}  // namespace zs::host
