#include "uarch/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace zs::uarch {
namespace {

Result<CoreModel> with_override(const CoreModel& model, std::string_view setting) {
  return with_overrides(model, {std::string(setting)});
}

const CoreModel& base() { return *find_core_model("skylake-server"); }

TEST(Overrides, ChangeTheOneNumberTheyName) {
  const auto changed = with_override(base(), "l2.bytes=2M");
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->memory.l2.bytes, 2_MiB);
  EXPECT_EQ(changed->memory.l2.ways, base().memory.l2.ways);
  EXPECT_EQ(with_override(base(), "dram.cycles=400")->memory.dram_cycles, 400U);
  EXPECT_EQ(with_override(base(), "adjacent=off")->memory.prefetch.adjacent, false);
  EXPECT_EQ(with_override(base(), "l1d.policy=lru")->memory.l1d.policy, lru());
  EXPECT_EQ(with_override(base(), "llc.role=inclusive")->memory.llc_role, LlcRole::Inclusive);
  EXPECT_EQ(with_override(base(), "llc.bytes=22M")->memory.llc.bytes, 22_MiB);
}

TEST(Overrides, SayWhatIsWrong) {
  const auto message = [](const char* setting) {
    const auto changed = with_override(base(), setting);
    return changed ? std::string("accepted") : changed.error().message;
  };
  EXPECT_EQ(message("l2.bytes"), "model setting 'l2.bytes': KEY=VALUE is needed, there is no '='");
  EXPECT_EQ(message("l9.bytes=1M"), "model setting 'l9.bytes=1M': there is no 'l9.bytes'");
  EXPECT_EQ(message("adjacent=yes"), "model setting 'adjacent=yes': 'yes' found, on or off needed");
  for (const char* setting : {"l2.bytes=", "l2.bytes=M", "l2.bytes=2MB", "l2.bytes=-1", "l2.ways=5000000000",
                              "l2.bytes=99999999999G", "l2.bytes=0x1000"}) {
    EXPECT_THAT(message(setting), testing::HasSubstr("a number, with K, M or G where it is large needed")) << setting;
  }
  EXPECT_THAT(message("l2.bytes=3M"), testing::HasSubstr("makes no core: a cache is a whole number of sets"));
  EXPECT_THAT(message("l1d.policy=qlru_h00_m1_r0_u1"), testing::HasSubstr("makes no core"));
  EXPECT_THAT(message("l1d.bytes=64K"), testing::HasSubstr("no larger than a page"));
  EXPECT_THAT(message("fill-buffers=0"), testing::HasSubstr("fill buffers"));
}

TEST(Overrides, AreLookedAtTogether) {
  const auto changed = with_overrides(base(), {"l1d.ways=12", "l1d.bytes=48K", "l1d.policy=lru"});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->memory.l1d.ways, 12U);
  EXPECT_EQ(changed->memory.l1d.bytes, 48_KiB);
  EXPECT_THAT(with_overrides(base(), {"l2.bytes=3M", "l1d.policy=lru"}).error().message,
              testing::HasSubstr("model settings 'l2.bytes=3M', 'l1d.policy=lru' make no core: a cache is"));
}

TEST(Overrides, EveryKeyIsKnownAndRefusesNonsense) {
  for (const std::string_view key : override_keys()) {
    const auto changed = with_override(base(), std::string(key) + "=nonsense");
    ASSERT_FALSE(changed) << key;
    EXPECT_THAT(changed.error().message, testing::HasSubstr("'nonsense' found")) << key;
  }
}

}  // namespace
}  // namespace zs::uarch
