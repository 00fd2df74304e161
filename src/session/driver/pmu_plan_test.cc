#include "session/driver/pmu_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::session {
namespace {

using arch::any_of;
using arch::fixed;
using arch::only;
using testing::ElementsAre;
using testing::SizeIs;

// Eight counters, three fixed, PEBS on PMC0 to PMC3, the distribution on PMC1.
const arch::CpuModel& model() { return arch::default_cpu_model(); }

EventSpec counted(std::string name, arch::CounterSet counters) {
  return {.name = std::move(name), .counters = counters};
}

EventSpec precise(std::string name) {
  return {.name = std::move(name), .counters = any_of(8), .precise_counters = any_of(4), .precise = 2, .period = 1000};
}

std::vector<EventSpec> alone(std::vector<EventSpec> events) {
  for (std::uint32_t i = 0; i < events.size(); ++i) events[i].leader = i;
  return events;
}

std::vector<BankPlan> banks_of(const std::vector<EventSpec>& events) {
  auto plan = plan_banks(events, model());
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return plan ? *plan : std::vector<BankPlan>{};
}

TEST(PmuPlan, InstructionsTakeTheirFixedCounterWhenTheyAreOnlyCounted) {
  const auto banks = banks_of(alone({counted("instructions", any_of(8) | fixed(0))}));
  EXPECT_THAT(banks, ElementsAre(ElementsAre(PlannedCounter{.event = 0, .counter = 32, .pebs = false})));
}

TEST(PmuPlan, APreciseEventTakesACounterThatHasPebs) {
  auto e = precise("instructions:pp");
  e.counters = e.counters | fixed(0);
  EXPECT_THAT(banks_of(alone({e})), ElementsAre(ElementsAre(PlannedCounter{.event = 0, .counter = 0, .pebs = true})));
}

TEST(PmuPlan, ThePreciseDistributionMakesRoomForItselfOnPmc1) {
  auto dist = precise("inst_retired.prec_dist:ppp");
  dist.precise_distribution = true;
  const auto banks = banks_of(alone({precise("a:pp"), precise("b:pp"), precise("c:pp"), dist}));
  ASSERT_THAT(banks, SizeIs(1));
  ASSERT_THAT(banks[0], SizeIs(4));
  EXPECT_EQ(banks[0][1], (PlannedCounter{.event = 3, .counter = 1, .pebs = true}));
}

TEST(PmuPlan, WhereRecordsDoNotSayWhoseTheyAreEachPreciseEventGetsAPmu) {
  // Formats 1 and 2 say which counters had overflowed, which may be two.
  auto counter = precise("mem_load_uops_retired.l3_miss:pp");
  auto stores = precise("mem_uops_retired.all_stores:pp");
  stores.leader = counter.leader = 0;  // not even a group keeps them together
  for (const char* name : {"westmere", "haswell", "skylake-server"}) {
    const arch::CpuModel& cpu = *arch::find_cpu_model(name);
    const auto plan = plan_banks(std::vector{counter, stores}, cpu);
    ASSERT_TRUE(plan) << name;
    EXPECT_THAT(*plan, SizeIs(cpu.pebs_format() < arch::PebsFormat::V3 ? 2 : 1)) << name;
  }
}

TEST(PmuPlan, AFifthPreciseEventGetsASecondPmu) {
  const auto banks = banks_of(alone({precise("a"), precise("b"), precise("c"), precise("d"), precise("e")}));
  ASSERT_THAT(banks, SizeIs(2));
  EXPECT_THAT(banks[0], SizeIs(4));
  EXPECT_THAT(banks[1], ElementsAre(PlannedCounter{.event = 4, .counter = 0, .pebs = true}));
}

TEST(PmuPlan, AGroupThatDoesNotFitBesideOthersStaysTogetherInTheNextPmu) {
  std::vector<EventSpec> events = alone({precise("a"), precise("b"), precise("c"), precise("d"), precise("e")});
  for (std::uint32_t i = 2; i < 5; ++i) events[i].leader = 2;
  const auto banks = banks_of(events);
  ASSERT_THAT(banks, SizeIs(2));
  EXPECT_THAT(banks[0], SizeIs(2));
  EXPECT_THAT(banks[1], SizeIs(3));
}

TEST(PmuPlan, AGroupLargerThanAPmuIsSpreadOverSeveral) {
  std::vector<EventSpec> events = alone({precise("a"), precise("b"), precise("c"), precise("d"), precise("e")});
  for (EventSpec& e : events) e.leader = 0;
  const auto banks = banks_of(events);
  ASSERT_THAT(banks, SizeIs(2));
  EXPECT_EQ(banks[0].size() + banks[1].size(), 5U);
}

TEST(PmuPlan, SoftwareEventsNeedNoCounter) {
  auto e = counted("page-faults", {});
  e.kind = EventKind::PageFaults;
  EXPECT_THAT(banks_of(alone({e})), SizeIs(0));
}

TEST(PmuPlan, TwoThresholdsOfLoadLatencyAreRefused) {
  const auto latency = [](const char* name, std::uint16_t threshold) {
    EventSpec e = precise(name);
    e.select = 0x1'01CD;
    e.latency_threshold = threshold;
    return e;
  };
  EXPECT_TRUE(plan_banks(alone({latency("a", 30), latency("b", 30), precise("c")}), model()));
  const auto plan = plan_banks(alone({latency("a", 30), precise("c"), latency("b", 64)}), model());
  ASSERT_FALSE(plan);
  EXPECT_EQ(
      plan.error().message,
      "b: asks for loads of more than 64 cycles, and a for those of more than 30: there is one threshold register");
}

TEST(PmuPlan, AnEventThatNoCounterCanSamplePreciselyIsNamed) {
  auto e = precise("br_inst_retired.not_taken:pp");
  e.precise_counters = {};
  const auto plan = plan_banks(alone({e}), model());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "br_inst_retired.not_taken:pp: no counter of skylake-server@1 can sample it precisely");
}

}  // namespace
}  // namespace zs::session
