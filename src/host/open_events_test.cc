#include "host/open_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/fake_kernel.h"
#include "host/kernel_events.h"

namespace zs::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Place kThread{.tid = 1234, .cpu = -1};
constexpr Place kOther{.tid = 1235, .cpu = -1};
constexpr EventValue kAlways{.value = 1000, .enabled_ns = 500, .running_ns = 500};

std::vector<EventToOpen> counters(std::string_view list) {
  std::vector<EventToOpen> events;
  const auto parsed = parse_kernel_events(list);
  for (const KernelEvent& event : *parsed) {
    events.push_back({.name = event.name, .attr = event.attr, .leader = event.leader});
    events.back().attr.disabled = events.back().attr.enable_on_exec = 1;
  }
  return events;
}

TEST(OpenEvents, AGroupFollowsItsLeader) {
  FakeKernel kernel;
  auto events = counters("faults,{cycles,instructions}");
  ASSERT_TRUE(OpenEvents::open(events, std::vector{kThread}, 0, {}, kernel.opener()));
  ASSERT_EQ(kernel.opened.size(), 3u);
  EXPECT_EQ(kernel.opened[0].group, -1);
  EXPECT_EQ(kernel.opened[1].group, -1);
  EXPECT_EQ(kernel.opened[2].group, kernel.opened[1].descriptor);
  EXPECT_EQ(kernel.opened[1].attr.enable_on_exec, 1u);
  EXPECT_EQ(kernel.opened[2].attr.enable_on_exec, 0u);
  EXPECT_EQ(kernel.opened[2].attr.disabled, 0u);
}

TEST(OpenEvents, ASumIsThatOfAllPlacesAndAThreadsItsOwn) {
  FakeKernel kernel;
  kernel.counts(PERF_COUNT_HW_CPU_CYCLES, kAlways);
  auto events = counters("cycles");
  const std::vector places{kThread, kOther};
  const auto sum = OpenEvents::open(events, places, 0, {}, kernel.opener());
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->read(0)->value, 2000u);
  const auto one = OpenEvents::open(events, places, 0, {}, kernel.opener());
  EXPECT_EQ(one->read(0, kOther.tid)->value, 1000u);
  EXPECT_EQ(one->read(0, kOther.tid + 1)->value, 0u);
}

TEST(OpenEvents, WhatTookTurnsIsScaledAsPerfDoes) {
  EXPECT_EQ(kAlways.scaled(), 1000u);
  EXPECT_EQ((EventValue{.value = 1000, .enabled_ns = 900, .running_ns = 300}).scaled(), 3000u);
  EXPECT_EQ((EventValue{.value = 2, .enabled_ns = 7, .running_ns = 4}).scaled(), 4u);  // 3.5, rounded
  EXPECT_EQ((EventValue{.value = 0, .enabled_ns = 900, .running_ns = 0}).scaled(), 0u);
  EventValue sum{.value = 10, .enabled_ns = 100, .running_ns = 100};
  sum.add({.value = 10, .enabled_ns = 100, .running_ns = 0});
  EXPECT_EQ(sum.scaled(), 40u);  // perf adds up first
}

TEST(OpenEvents, ACounterThatGivesNothingIsNotCountedAsZero) {
  FakeKernel kernel;
  auto events = counters("cycles:D");
  auto opened = OpenEvents::open(events, std::vector{kThread}, 0, {}, kernel.opener());
  ASSERT_TRUE(opened->read(0));
  const auto again = opened->read(0);  // the fake's file ends here, as that of a pinned event in error
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("a counter of thread 1234 had no place in the PMU"));
}

TEST(OpenEvents, AThreadThatEndedMeanwhileIsLeftOut) {
  FakeKernel kernel;
  kernel.counts(PERF_COUNT_HW_CPU_CYCLES, kAlways);
  kernel.refuses(PERF_COUNT_HW_CPU_CYCLES, ESRCH, 1);
  auto events = counters("cycles");
  const auto opened = OpenEvents::open(events, std::vector{kThread, kOther}, 0, {}, kernel.opener());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->read(0)->value, 1000u);
  const auto nobody = OpenEvents::open(events, std::vector{kThread}, 0, {}, kernel.opener());
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().message, HasSubstr("no such process"));
}

TEST(OpenEvents, RefusalsOfTheKernelAreToldApart) {
  const auto told = [](int error, Permissions permissions, int after = 0) {
    FakeKernel kernel;
    kernel.refuses(PERF_COUNT_HW_INSTRUCTIONS, error, after);
    auto events = counters("{cycles,instructions}");
    const auto opened = OpenEvents::open(events, std::vector{kThread, kOther}, 0, permissions, kernel.opener());
    return opened ? "" : opened.error().message + " | " + opened.error().hint;
  };
  EXPECT_THAT(told(ENOENT, {}), AllOf(HasSubstr("instructions for thread 1234"), HasSubstr("no PMU that counts it")));
  EXPECT_THAT(told(EACCES, {.paranoid = 4}), HasSubstr("perf_event_paranoid is 4"));
  EXPECT_THAT(told(EPERM, {.paranoid = 2}), HasSubstr("another user's"));
  EXPECT_THAT(told(EPERM, {.paranoid = 2, .filtered = true}), HasSubstr("seccomp"));
  EXPECT_THAT(told(EMFILE, {}, 1), AllOf(HasSubstr("thread 1235"), HasSubstr("EMFILE")));
  EXPECT_THAT(told(ENOSPC, {}), HasSubstr("ENOSPC"));
  EXPECT_THAT(told(EINVAL, {}), HasSubstr("EINVAL"));
  EXPECT_THAT(told(EBUSY, {}), HasSubstr("has the PMU for itself"));
}

TEST(OpenEvents, FewerPUntilTheProcessorCan) {
  FakeKernel kernel;
  auto events = counters("cycles:P");
  events[0].most_precise = true;
  events[0].attr.precise_ip = 3;
  int tries = 0;
  const Opener up_to_one = [&](const perf_event_attr& attr, Place place, int group) {
    ++tries;
    if (attr.precise_ip <= 1) return kernel.opener()(attr, place, group);
    errno = EOPNOTSUPP;
    return -1;
  };
  ASSERT_TRUE(OpenEvents::open(events, std::vector{kThread}, 0, {}, up_to_one));
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(events[0].attr.precise_ip, 1u);
}

}  // namespace
}  // namespace zs::host
