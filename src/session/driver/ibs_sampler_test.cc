#include "session/driver/ibs_sampler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "arch/cpu_model.h"
#include "pmu/fakes.h"

namespace zs::session {
namespace {

constexpr std::uint64_t kOps = arch::IbsOpCtl::counts_ops.mask;

struct Sampled {
  explicit Sampled(std::uint64_t period, std::uint32_t frequency = 0, std::uint64_t select = kOps,
                   EventKind kind = EventKind::IbsOp)
      : event{.name = "ibs", .kind = kind, .select = select, .period = period, .frequency = frequency} {}

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
    ASSERT_TRUE(check_ibs_period("e", EventKind::IbsOp, period));
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
  EXPECT_EQ(caps, 0xBFFU);
  EXPECT_EQ(registers[0], sample->control.raw());
  EXPECT_EQ(registers[1], 0x1000U + 4 * 159);
  for (int i = 2; i < 8; ++i) EXPECT_EQ(registers[i], 0U) << i;
}

TEST(IbsSampler, SamplesFetchesEachPeriodFromZero) {
  Sampled t{160, 0, 0, EventKind::IbsFetch};
  for (unsigned i = 1; i <= 20; ++i) {
    EXPECT_EQ(t.run_to_interrupt(), 160U);
    const auto sample = t.sampler.take_interrupt();
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->period, 160U);
    EXPECT_EQ(sample->fetch.linear, 0x1000U + 4 * 159);
    EXPECT_EQ(t.sampler.total(), 160U * i);
    t.sampler.go_on(0);
  }
  for (int i = 0; i < 100; ++i) t.retire(0x2000);
  EXPECT_EQ(t.sampler.total(), 160U * 20 + 96) << "as far as the register shows it";
}

TEST(IbsSampler, GivesTheRawDataOfAFetchThatAKernelGives) {
  Sampled t{160, 0, arch::IbsFetchCtl::random.mask, EventKind::IbsFetch};
  const unsigned ran = t.run_to_interrupt();
  EXPECT_LE(ran, 160U);
  EXPECT_GE(ran, 145U);
  const auto sample = t.sampler.take_interrupt();
  ASSERT_TRUE(sample);
  const std::vector<std::byte> raw = raw_data(*sample, t.model);
  ASSERT_EQ(raw.size(), 4U + 4 * 8);
  std::uint64_t registers[4];
  std::memcpy(registers, raw.data() + 4, sizeof registers);
  EXPECT_EQ(registers[0], 0x0207'0000'000A'000AU);
  EXPECT_EQ(registers[1], 0x1000U + 4 * (ran - 1));
  EXPECT_EQ(registers[2], 0U);
  EXPECT_EQ(registers[3], 0U);
}

TEST(IbsSampler, TellsOfAFetchItsInstructionAndNoData) {
  IbsSample found{.kind = EventKind::IbsFetch};
  found.fetch.linear = 0x4010;
  found.op.linear = 0x7000;
  Sample sample;
  tell(found, sample);
  EXPECT_EQ(sample.ip, 0x4010U);
  EXPECT_TRUE(sample.exact_ip);
  EXPECT_EQ(sample.address, 0U);
  EXPECT_EQ(sample.data_source, arch::perf_data_src(arch::IbsOp{}));
  EXPECT_EQ(sample.latency, 0U);
}

TEST(IbsPeriod, IsAMultipleOf16ThatTheRegisterCanHold) {
  const auto check = [](std::uint64_t period) { return check_ibs_period("ibs_op//", EventKind::IbsOp, period); };
  EXPECT_TRUE(check(144));
  EXPECT_TRUE(check(100'000));
  EXPECT_TRUE(check(0x7FF'FFF0));
  EXPECT_FALSE(check(0x800'0000));
  EXPECT_EQ(check(128).error().message, "ibs_op//: period 128 is too short for instruction-based sampling");
  const Error odd = check(1000).error();
  EXPECT_EQ(odd.message, "ibs_op//: period 1000 is no multiple of 16: IbsOpMaxCnt has no lower bits");
  EXPECT_EQ(odd.hint, "992, for instance");
}

TEST(IbsPeriod, OfFetchesHas20Bits) {
  const auto check = [](std::uint64_t period) { return check_ibs_period("ibs_fetch//", EventKind::IbsFetch, period); };
  EXPECT_TRUE(check(16));
  EXPECT_TRUE(check(0xF'FFF0));
  EXPECT_EQ(check(0x10'0000).error().message, "ibs_fetch//: period 1048576 is longer than IbsFetchMaxCnt can hold");
  EXPECT_EQ(check(0).error().hint, "at least 16");
  EXPECT_EQ(check(24).error().hint, "16, for instance");
}

}  // namespace
}  // namespace zs::session
