#include "cli/events/pfm_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace zs::cli {
namespace {

using ::testing::HasSubstr;

const arch::CpuModel& skylake_1() { return *arch::find_cpu_model("skylake-server@1"); }

std::string row_of(std::string_view text) {
  const auto parsed = parse_events(text, skylake_1());
  if (!parsed) return parsed.error().message;
  const arch::Event* row = parsed->front().events.front().row;
  return row == nullptr ? "no row" : std::string(row->name);
}

TEST(PfmNames, EncodeWhatTheModelsOwnTableLacks) {
  const PfmNames names;
  EXPECT_EQ(names.config_of(skylake_1(), "MEM_INST_RETIRED:ALL_LOADS"), 0x81D0u);
  EXPECT_EQ(names.config_of(skylake_1(), "cycle_activity:stalls_total"), 0x4000'4A3u);
  EXPECT_EQ(names.config_of(*arch::find_cpu_model("westmere"), "INST_RETIRED:ANY_P"), 0x01C0u);
  EXPECT_FALSE(names.config_of(skylake_1(), "NO_SUCH:THING").has_value());
  EXPECT_FALSE(names.config_of(skylake_1(), "").has_value());
}

TEST(PfmNames, LeaveAttributesToTheParser) {
  const PfmNames names;
  EXPECT_FALSE(names.config_of(skylake_1(), "MEM_INST_RETIRED:ALL_LOADS:k").has_value());
  EXPECT_FALSE(names.config_of(skylake_1(), "MEM_INST_RETIRED:ALL_LOADS:U").has_value());
}

TEST(PfmNames, LeaveTheEnvironmentAsItWas) {
  unsetenv("LIBPFM_ENCODE_INACTIVE");
  EXPECT_FALSE(PfmNames().all(skylake_1()).empty());
  EXPECT_EQ(std::getenv("LIBPFM_ENCODE_INACTIVE"), nullptr);
  setenv("LIBPFM_ENCODE_INACTIVE", "mine", 1);
  EXPECT_FALSE(PfmNames().all(skylake_1()).empty());
  EXPECT_STREQ(std::getenv("LIBPFM_ENCODE_INACTIVE"), "mine");
  unsetenv("LIBPFM_ENCODE_INACTIVE");
}

TEST(PfmNames, KnowEveryCpuModel) {
  const PfmNames names;
  for (const arch::CpuModel& cpu : arch::cpu_models()) EXPECT_GT(names.events(cpu).size(), 100u) << cpu.name;
}

TEST(ParseWithPfmNames, CombinesUmasks) {
  EXPECT_EQ(row_of("skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE:SCALAR_SINGLE:u"), "fp_arith_inst_retired.scalar");
  EXPECT_THAT(row_of("skx::FP_ARITH:SCALAR_SINGLE:SCALAR_DOUBLE:k"), HasSubstr("ring-0 counting is not modelled"));
}

TEST(ParseWithPfmNames, TakesLibpfmsDefaultUmasksAndArchitecturalNames) {
  EXPECT_EQ(row_of("skx::MEM_INST_RETIRED"), "mem_inst_retired.any");
  EXPECT_EQ(row_of("ix86arch::INSTRUCTION_RETIRED"), "inst_retired.any_p");
}

TEST(ParseWithPfmNames, ExplainsWhatIsNotModelled) {
  EXPECT_EQ(
      row_of("EXE_ACTIVITY.2_PORTS_UTIL"),
      "event list, column 1: not modelled: EXE_ACTIVITY.2_PORTS_UTIL needs more of the core (cycles) than its models "
      "have");
}

TEST(ParseWithPfmNames, OffersItsNamesToWhoeverMistypes) {
  const auto parsed = parse_events("EXE_ACTIVITY.BOUND_ON_STORE_", skylake_1());
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().hint, HasSubstr("nearest: EXE_ACTIVITY.BOUND_ON_STORES, "));
}

}  // namespace
}  // namespace zs::cli
