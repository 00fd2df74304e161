#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/nearest_names.h"

namespace zs::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kNames{
    "instructions",         "branch-instructions", "branches",  "cycles",     "cache-misses",
    "branch-misses",        "LLC-load-misses",     "LLC-loads", "cpu-cycles", "cycle_activity.stalls_total",
    "L1-dcache-load-misses"};

TEST(MeantNames, AreThoseWithoutWhatStandsBetweenWords) {
  EXPECT_THAT(meant_names("branchinstructions", kNames), ElementsAre("branch-instructions", "branches"));
  EXPECT_THAT(meant_names("cycle", kNames), ElementsAre("cycles"));
  EXPECT_THAT(meant_names("Cache_Miss", kNames), ElementsAre("cache-misses", "LLC-load-misses"));
}

TEST(MeantNames, AreWhatPapiMeans) {
  EXPECT_THAT(meant_names("PAPI_TOT_INS", kNames), ElementsAre("instructions"));
  EXPECT_THAT(meant_names("PAPI_TOT_CYC", kNames), ElementsAre("cycles"));
  EXPECT_THAT(meant_names("PAPI_L1_DCM", kNames), ElementsAre("L1-dcache-load-misses"));
  EXPECT_THAT(meant_names("PAPI_BR_MSP", kNames), ElementsAre("branch-misses"));
}

TEST(MeantNames, AreWhatIsCounted) {
  EXPECT_THAT(meant_names("LLC-miss", kNames), ElementsAre("LLC-load-misses", "cache-misses"));
  EXPECT_THAT(meant_names("mispredicts", kNames), ElementsAre("branch-misses"));
}

TEST(MeantNames, AreOnlyThoseThatThereAre) {
  EXPECT_THAT(meant_names("PAPI_TLB_DM", kNames), IsEmpty());
  EXPECT_THAT(meant_names("frobnications", kNames), IsEmpty());
  EXPECT_THAT(meant_names("inst_retired.any_pp", kNames), IsEmpty());
  EXPECT_THAT(meant_names("cycle_activity", kNames), IsEmpty());  // of the vendor's event, whose umask is missing
  EXPECT_THAT(meant_names("", kNames), IsEmpty());
}

}  // namespace
}  // namespace zs::session
