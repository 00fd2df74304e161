#include "session/driver/skid_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/recording/fake_program.h"
#include "session/recording/test_recorder.h"

namespace zs::session {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

RecordingConfig late(Skid skid, std::vector<EventSpec> events, std::uint64_t instructions = 0) {
  RecordingConfig config = recording(std::move(events));
  config.skid = skid;
  config.skid_instructions = instructions;
  return config;
}

arch::SkidNote note_of(const Sample& sample) {
  const auto note = arch::read_skid_note(sample.raw);
  EXPECT_TRUE(note.has_value());
  return note.value_or(arch::SkidNote{});
}

/// A loop of 400 instructions, of four bytes each, of which the first one loads.
constexpr std::uint64_t kLoop = 400;
void run_loop(FakeThread& thread, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    thread.run({.ip = kText, .loads = 1, .address = 0x2000});
    thread.run_straight(kText + 4, kLoop - 1);
  }
}

std::vector<std::uint64_t> distances(const Recorded& out) {
  std::vector<std::uint64_t> found;
  for (const Sample& sample : out.all<Sample>()) found.push_back(note_of(sample).instructions);
  return found;
}

TEST(SkidReplay, PreciseShowsTheInstructionThatOverflows) {
  Recorded out{late(Skid::Precise, {loads(2, 0)})};
  FakeThread thread{out.recorder, kMain};
  run_loop(thread, 6);
  thread.exit();
  EXPECT_THAT(out.ips(), ElementsAre(kText, kText, kText));
  EXPECT_THAT(distances(out), Each(0));
  for (const Sample& sample : out.all<Sample>()) {
    EXPECT_TRUE(sample.exact_ip);
    EXPECT_EQ(note_of(sample).ip, kText);
    EXPECT_EQ(note_of(sample).cause, arch::SkidCause::None);
  }
}

TEST(SkidReplay, FixedShowsWhatIsNextAfterSoManyInstructions) {
  for (const std::uint64_t later : {0, 1, 7, 399}) {
    Recorded out{late(Skid::Fixed, {loads(2, 0)}, later)};
    FakeThread thread{out.recorder, kMain};
    run_loop(thread, 7);
    thread.exit();
    ASSERT_THAT(out.ips(), SizeIs(3));
    EXPECT_THAT(distances(out), Each(later + 1));
    EXPECT_THAT(out.ips(), Each(kText + 4 * (later + 1)));
    for (const Sample& sample : out.all<Sample>()) {
      EXPECT_EQ(note_of(sample).ip, kText);
      EXPECT_EQ(sample.registers.ip, sample.ip) << "the interrupted state is that of the moment";
      EXPECT_FALSE(sample.exact_ip);
    }
  }
}

TEST(SkidReplay, TheSeenDistributionDiffersBySeedAlone) {
  const auto run = [](std::uint64_t seed) {
    RecordingConfig config = late(Skid::Distribution, {loads(1, 0)});
    config.seed = seed;
    Recorded out{config};
    FakeThread thread{out.recorder, kMain};
    run_loop(thread, 400);
    thread.exit();
    return distances(out);
  };
  const auto first = run(1);
  ASSERT_THAT(first, SizeIs(400));
  EXPECT_EQ(first, run(1));
  EXPECT_NE(first, run(2));
  std::uint64_t sum = 0;
  for (const std::uint64_t distance : first) {
    EXPECT_GE(distance, 6);
    EXPECT_LE(distance, 206);
    sum += distance;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 400, 86, 8);  // the source's mean, and the instruction that is shown
}

TEST(SkidReplay, ArmedShowsTheNextOneWithTheEventBehindTheShadow) {
  // Three loads in a row, then the fourth at 8 instructions behind the first and the fifth at 9.
  Recorded out{late(Skid::Armed, {loads(1, 0)})};
  FakeThread thread{out.recorder, kMain};
  const auto load = [&](std::uint64_t at) { thread.run({.ip = kText + 4 * at, .loads = 1, .address = 0x2000}); };
  for (const std::uint64_t at : {0, 1, 2}) load(at);
  thread.run_straight(kText + 12, 5);
  load(8);
  load(9);
  thread.exit();
  ASSERT_THAT(out.ips(), ElementsAre(kText + 36));
  const arch::SkidNote note = note_of(out.all<Sample>().front());
  EXPECT_EQ(note.ip, kText);
  EXPECT_EQ(note.instructions, 9);
  EXPECT_EQ(note.hidden, 3);
  EXPECT_EQ(note.cause, arch::SkidCause::Arming);
}

TEST(SkidReplay, ArmedCountsItsPeriodAnewBehindTheRecord) {
  Recorded out{late(Skid::Armed, {loads(3, 0)})};
  FakeThread thread{out.recorder, kMain};
  run_loop(thread, 12);
  thread.exit();
  EXPECT_THAT(distances(out), ElementsAre(kLoop, kLoop, kLoop)) << "every fourth: three are counted, one is recorded";
  EXPECT_THAT(out.all<Sample>().front().period, 3);
}

TEST(SkidReplay, OneInterruptServesWhatOverflowsUntilItComes) {
  Recorded out{late(Skid::Fixed, {loads(1, 0), instructions(100, 0)}, 50)};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 80);
  thread.run({.ip = kText + 320, .loads = 1, .address = 0x2000});  // comes after 131 instructions,
  thread.run_straight(kText + 324, 9);
  thread.run({.ip = kText + 360, .loads = 1, .address = 0x2000});  // this one's, too
  thread.run_straight(kText + 364, 59);                            // and of instruction 100
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_THAT(out.ips(), Each(kText + 4 * 131));
  EXPECT_EQ(samples[0].period, 2) << "two loads";
  EXPECT_EQ(note_of(samples[0]).ip, kText + 320) << "the first of them";
  EXPECT_EQ(note_of(samples[1]).ip, kText + 4 * 99);
  EXPECT_EQ(note_of(samples[1]).instructions, 32);
}

TEST(SkidReplay, WhatNoSampleShowsWhenTheThreadEndsIsLostAndSaidToBe) {
  Recorded out{late(Skid::Fixed, {loads(1, 0)}, 50)};
  FakeThread thread{out.recorder, kMain};
  thread.run({.ip = kText, .loads = 1, .address = 0x2000});
  thread.run_straight(kText + 4, 49);
  thread.exit();
  EXPECT_THAT(out.all<Sample>(), IsEmpty());
  const auto lost = out.all<Lost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].samples, 1);
}

TEST(SkidReplay, WhatItCountsByIsNotReported) {
  for (const Skid skid : {Skid::Fixed, Skid::Distribution, Skid::Armed, Skid::Precise}) {
    Recorded out{late(skid, {loads(2, 0)}, 7)};
    FakeThread thread{out.recorder, kMain};
    run_loop(thread, 2);
    thread.exit();
    EXPECT_THAT(out.all<Counts>().back().values, ElementsAre(2));
  }
}

TEST(SkidReplay, SamplesWithoutASkidSayNothingOfOne) {
  Recorded out{recording({loads(1, 0)})};
  FakeThread thread{out.recorder, kMain};
  run_loop(thread, 2);
  thread.exit();
  for (const Sample& sample : out.all<Sample>()) EXPECT_THAT(sample.raw, IsEmpty());
}

}  // namespace
}  // namespace zs::session
