#include "session/ibs_sampler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "arch/cpu_model.h"
#include "pmu/fakes.h"

namespace zs::session {
namespace {

constexpr std::uint64_t kOps = arch::IbsOpCtl::counts_ops.mask;

struct Sampled {
  explicit Sampled(std::uint64_t period, std::uint32_t frequency = 0, std::uint64_t select = kOps)
      : event{
            .name = "ibs_op//", .kind = EventKind::IbsOp, .select = select, .period = period, .frequency = frequency} {}

  /// Instructions up to the interrupt, the sampled one included.
  unsigned run_to_interrupt() {
    unsigned ran = 0;
    while (!requested) retire(0x1000 + 4 * ran++);
    requested = false;
    return ran;
  }
  void retire(std::uint64_t ip) {
    arch::Retired r;
    r.ip = ip;
    r.next_ip = ip + 4;
    sampler.pmu().retire(r, {.ip = ip + 4});
  }

  const arch::CpuModel& model = *arch::find_cpu_model("zen4");
  EventSpec event;
  pmu::SteppingClock clock;
  bool requested = false;
  IbsSampler sampler{model, event,
                     3,     event.frequency != 0 ? std::optional(AdaptivePeriod(event.frequency)) : std::nullopt,
                     clock, requested};
};

TEST(IbsSampler, TakesASampleAtEachInterruptAndGoesOnFromTheRandomCount) {
  Sampled t{160};
  EXPECT_EQ(t.run_to_interrupt(), 160U);
  std::uint64_t counted = 160;
  for (int i = 0; i < 200; ++i) {
    const auto sample = t.sampler.take_interrupt();
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->period, 160U);
    EXPECT_EQ(t.sampler.total(), counted);
    const std::uint64_t random = sample->control.get(arch::IbsOpCtl::current);
    t.sampler.go_on(0);
    EXPECT_EQ(t.run_to_interrupt(), 160 - random);
    counted += 160 - random;
  }
  EXPECT_EQ(t.sampler.interrupts(), 200U);
}

TEST(IbsSampler, CountsNothingBetweenTheInterruptAndGoingOn) {
  Sampled t{160};
  t.run_to_interrupt();
  ASSERT_TRUE(t.sampler.take_interrupt());
  EXPECT_FALSE(t.sampler.take_interrupt());
  for (int i = 0; i < 500; ++i) t.retire(0x2000);
  EXPECT_EQ(t.sampler.total(), 160U);
  EXPECT_FALSE(t.requested);
}

TEST(IbsSampler, SaysHowFarItHasCounted) {
  Sampled t{160};
  for (int i = 0; i < 100; ++i) t.retire(0x2000);
  EXPECT_EQ(t.sampler.total(), 100U);
}

TEST(IbsSampler, FollowsTheProgramInPeriodsThatTheHardwareTakes) {
  Sampled t{0, 1'000'000};  // each 1000 instructions
  std::uint64_t instructions = 0, period = 0;
  for (int i = 0; i < 100; ++i) {
    instructions += t.run_to_interrupt();
    const auto sample = t.sampler.take_interrupt();
    ASSERT_TRUE(sample);
    period = sample->period;
    ASSERT_TRUE(check_ibs_period("e", period));
    t.sampler.go_on(instructions);
  }
  EXPECT_NEAR(static_cast<double>(period), 1064, 50) << "64 random ops less, on average";
}

TEST(IbsSampler, GivesTheRawDataThatAKernelGives) {
  Sampled t{160};
  t.run_to_interrupt();
  const auto sample = t.sampler.take_interrupt();
  ASSERT_TRUE(sample);
  const std::vector<std::byte> raw = raw_data(*sample, t.model);
  ASSERT_EQ(raw.size(), 4U + 8 * 8);
  std::uint32_t caps = 0;
  std::uint64_t registers[8];
  std::memcpy(&caps, raw.data(), sizeof caps);
  std::memcpy(registers, raw.data() + 4, sizeof registers);
  EXPECT_EQ(caps, 0x9FDU);
  EXPECT_EQ(registers[0], sample->control.raw());
  EXPECT_EQ(registers[1], 0x1000U + 4 * 159);
  for (int i = 2; i < 8; ++i) EXPECT_EQ(registers[i], 0U) << i;
}

TEST(IbsPeriod, IsAMultipleOf16ThatTheRegisterCanHold) {
  EXPECT_TRUE(check_ibs_period("e", 144));
  EXPECT_TRUE(check_ibs_period("e", 100'000));
  EXPECT_TRUE(check_ibs_period("e", 0x7FF'FFF0));
  EXPECT_FALSE(check_ibs_period("e", 0x800'0000));
  EXPECT_EQ(check_ibs_period("ibs_op//", 128).error().message,
            "ibs_op//: period 128 is too short for instruction-based sampling");
  const Error odd = check_ibs_period("ibs_op//", 1000).error();
  EXPECT_EQ(odd.message, "ibs_op//: period 1000 is no multiple of 16: IbsOpMaxCnt has no lower bits");
  EXPECT_EQ(odd.hint, "992, for instance");
}

}  // namespace
}  // namespace zs::session
