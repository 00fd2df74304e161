#include "session/settings/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::session {
namespace {

using testing::HasSubstr;

RecordingConfig two_events() {
  RecordingConfig config;
  config.events = {
      {.name = "mem_inst_retired.all_loads:ppp",
       .select = 0x181D0,
       .counters = arch::any_of(8),
       .precise_counters = arch::any_of(4),
       .precise = 3,
       .has_address = true,
       .period = 997,
       .leader = 0},
      {.name = "page-faults", .kind = EventKind::PageFaults, .leader = 1},
  };
  config.seed = 42;
  config.callchain = Callchain::Dwarf;
  config.stack_bytes = 8192;
  config.virtual_time = true;
  config.regions = {{.name = "",
                     .switches = true,
                     .in_file = true,
                     .file = {.inode = 7},
                     .begins = {1},
                     .ends = {2, 3},
                     .repeated = {1}}};
  config.trace_filter = {
      .ranges = {{.file = {.device_major = 8, .device_minor = 1, .inode = 7}, .offset = 0x1130, .bytes = 64}},
      .switched = true,
      .begins_on = false,
      .regions = {"hot"},
      .threads = {"worker", "1"}};
  return config;
}

TEST(RecordingConfig, ComesBackUnchangedFromItsBytes) {
  const auto config = two_events();
  const auto back = decode_config(encode_config(config));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, config);
}

TEST(RecordingConfig, EveryDamagedByteIsNoticed) {
  const auto good = encode_config(two_events());
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    EXPECT_FALSE(decode_config(bad)) << "byte " << i;
  }
}

TEST(RecordingConfig, EveryShorterPrefixIsRefused) {
  const auto good = encode_config(two_events());
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_config(std::span(good).first(n))) << n;
}

TEST(RecordingConfig, AnotherVersionIsNamed) {
  auto bytes = encode_config(two_events());
  bytes[8] = std::byte{13};
  const auto back = decode_config(bytes);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().message, "recording configuration: version 13, this zeroskid-run reads version 12");
  EXPECT_THAT(back.error().hint, HasSubstr("same build"));
}

TEST(RecordingConfig, UnitsComeBackAndImpossibleOnesAreRefused) {
  auto config = two_events();
  config.detail = Detail::Full;
  config.events[1].detail = Detail::Full;
  config.in_units = true;
  config.units.complete = 3'000'000;
  const auto back = decode_config(encode_config(config));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, config);
  EXPECT_EQ(back->estimated_events(), std::vector<std::uint32_t>{1});
  for (const auto& spoil : {+[](RecordingConfig& c) { c.units.first_period = c.units.unit; },
                            +[](RecordingConfig& c) { c.units.first_period = 5 * c.units.unit + 1; },
                            +[](RecordingConfig& c) { c.units.longest_period = c.units.first_period - 1; },
                            +[](RecordingConfig& c) { c.detail = c.events[1].detail = Detail::Exact; }}) {
    auto spoilt = config;
    spoil(spoilt);
    EXPECT_FALSE(decode_config(encode_config(spoilt)));
  }
}

TEST(RecordingConfig, AnEventThatNeedsMoreOfTheCoreThanIsPlayedIsRefused) {
  auto config = two_events();
  config.model_settings = {"l2.bytes=2M", "l2.ways=16"};
  config.cores = 3;
  config.events[0].detail = Detail::Full;
  EXPECT_FALSE(decode_config(encode_config(config)));
  config.detail = Detail::Full;
  const auto back = decode_config(encode_config(config));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, config);
}

TEST(RecordingConfig, OneRecordPerPmiWhenASampleNeedsTheStateAtItsPmi) {
  auto config = two_events();
  config.callchain = Callchain::None;
  EXPECT_EQ(config.records_per_pmi(), 64U);
  config.branch_stack = true;
  EXPECT_EQ(config.records_per_pmi(), 1U);
  config.branch_stack = false;
  config.callchain = Callchain::FramePointers;
  EXPECT_EQ(config.records_per_pmi(), 1U);
  config.callchain = Callchain::None;
  config.events[0].frequency = 4000;
  EXPECT_EQ(config.records_per_pmi(), 1U);
}

}  // namespace
}  // namespace zs::session
