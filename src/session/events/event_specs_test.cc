#include "session/events/event_specs.h"

#include <gtest/gtest.h>

namespace zs::session {
namespace {

std::vector<EventSpec> specs_of(const char* text, const Sampling* sampling) {
  const auto groups = parse_events(text, arch::default_cpu_model());
  EXPECT_TRUE(groups);
  return groups ? event_specs(*groups, sampling) : std::vector<EventSpec>{};
}

TEST(EventSpecs, CarryWhatACounterNeeds) {
  const Sampling sampling{.period = 997};
  const auto specs = specs_of("cpu/mem_inst_retired.all_loads,name=loads/pp", &sampling);
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0], (EventSpec{.name = "loads",
                                 .kind = EventKind::Hardware,
                                 .select = 0x1'81D0,
                                 .counters = arch::any_of(8),
                                 .precise_counters = arch::any_of(4),
                                 .precise = 2,
                                 .precise_distribution = false,
                                 .has_address = true,
                                 .period = 997,
                                 .frequency = 0,
                                 .leader = 0}));
}

TEST(EventSpecs, LeaveOutHowToSampleWhereNothingIsSampled) {
  const auto specs = specs_of("cpu/instructions,period=10/ppp", nullptr);
  EXPECT_EQ(specs[0].period, 0u);
  EXPECT_EQ(specs[0].precise, 0);
  EXPECT_FALSE(specs[0].precise_distribution);
  EXPECT_FALSE(specs[0].samples());
}

TEST(EventSpecs, PreferTheEventsOwnPeriodToTheCommandLines) {
  const Sampling period{.period = 997}, frequency{.frequency = 4000};
  EXPECT_EQ(specs_of("cpu/instructions,period=10/", &period)[0].period, 10u);
  const EventSpec own_frequency = specs_of("cpu/instructions,freq=99/", &period)[0];
  EXPECT_EQ(own_frequency.period, 0u);
  EXPECT_EQ(own_frequency.frequency, 99u);
  EXPECT_EQ(specs_of("instructions", &frequency)[0].frequency, 4000u);
}

TEST(EventSpecs, PointAtTheFirstEventOfTheirGroup) {
  const Sampling sampling{.period = 997};
  const auto specs = specs_of("branches,{instructions,cs},faults", &sampling);
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_EQ(specs[0].leader, 0u);
  EXPECT_EQ(specs[1].leader, 1u);
  EXPECT_EQ(specs[2].leader, 1u);
  EXPECT_EQ(specs[3].leader, 3u);
  EXPECT_EQ(specs[2].kind, EventKind::ContextSwitches);
  EXPECT_FALSE(specs[2].samples());
}

}  // namespace
}  // namespace zs::session
