#include "uarch/core_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "arch/cpu_model.h"

namespace zs::uarch {
namespace {

TEST(CoreModels, HaveTheNamesOfCpuModels) {
  for (const CoreModel& model : core_models()) EXPECT_NE(arch::find_cpu_model(model.name), nullptr) << model.name;
}

// arch/events/amd.cc and the metrics say six, which only this layer knows.
TEST(CoreModels, OfZen4DispatchAsManyOpsInACycleAsItsEventsAndMetricsSay) {
  EXPECT_EQ(find_core_model("zen4")->timing.issue_width, 6U);
}

TEST(CoreModels, AreFoundByNameAndByNameWithoutVersion) {
  for (const CoreModel& model : core_models()) {
    EXPECT_EQ(find_core_model(model.name), &model);
    EXPECT_EQ(find_core_model(model.name.substr(0, model.name.find('@'))), &model);
  }
  EXPECT_EQ(find_core_model("skylake"), nullptr);
  EXPECT_EQ(find_core_model("skylake-server@2"), nullptr);
  EXPECT_NE(find_core_model(arch::kDefaultCpuModel), nullptr);
}

TEST(CoreModels, InconsistentNumbersAreNamed) {
  CoreModel model = *find_core_model("skylake-server");
  EXPECT_EQ(inconsistency(model), nullptr);
  model.memory.l2.load_to_use_cycles = 4;
  EXPECT_THAT(std::string(inconsistency(model)), testing::HasSubstr("latency grows"));
  model = *find_core_model("skylake-server");
  model.memory.l1d.bytes = 64_KiB;
  EXPECT_THAT(std::string(inconsistency(model)), testing::HasSubstr("no larger than a page"));
  model = *find_core_model("skylake-server");
  model.memory.l1d.policy = policy("qlru_h00_m1_r0_u1");
  EXPECT_THAT(std::string(inconsistency(model)), testing::HasSubstr("QLRU"));
}

}  // namespace
}  // namespace zs::uarch
