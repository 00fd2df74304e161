#include "cli/costs/costs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace zs::cli {
namespace {

class CostsFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/zeroskid/costs.json"; }
  std::string folder_ = testing::TempDir() + "zs-costs-" +
                        testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid());
};

const Costs kCosts{.machine = "a processor, zeroskid 1",
                   .start_ms = 12.5,
                   .native_ms = 400,
                   .rows = {{"counting", 1.25}, {"topdown", 97}}};

TEST_F(CostsFile, KeepsWhatWasMeasured) {
  ASSERT_TRUE(keep_costs(kCosts, path()));
  const auto kept = kept_costs(path(), kCosts.machine);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->start_ms, 12.5);
  EXPECT_EQ(kept->native_ms, 400);
  ASSERT_EQ(kept->rows.size(), 2u);
  EXPECT_EQ(kept->rows[1].name, "topdown");
  EXPECT_EQ(kept->rows[1].times_native, 97);
}

TEST_F(CostsFile, CostsOfAnotherMachineAreNone) {
  ASSERT_TRUE(keep_costs(kCosts, path()));
  EXPECT_FALSE(kept_costs(path(), "a processor, zeroskid 2"));
}

TEST_F(CostsFile, AFileThatIsNotOursIsNone) {
  EXPECT_FALSE(kept_costs(path(), kCosts.machine));
  std::filesystem::create_directories(folder_ + "/zeroskid");
  for (const char* const text :
       {"", "{", "[]", "{\"schema\": 1}", "{\"schema\": \"zeroskid-costs\", \"version\": \"1\"}"}) {
    std::ofstream(path()) << text;
    EXPECT_FALSE(kept_costs(path(), kCosts.machine)) << text;
  }
}

TEST_F(CostsFile, AFolderThatCannotBeMadeIsSaid) {
  std::ofstream(folder_) << "a file";
  const auto kept = keep_costs(kCosts, path());
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find(path() + ": cannot be written"), std::string::npos);
}

session::RecordingConfig modelled() { return {.detail = session::Detail::Full}; }

TEST(CostLine, SaysWhatAllOfItCostsAndSamplesWould) {
  EXPECT_EQ(cost_line(modelled(), kCosts),
            "in detail: all of it, about 97 times native; --detail sampled: about 4.0 times");
  Costs measured = kCosts;
  measured.rows.push_back({std::string(kSampledTopdown), 2.5});
  EXPECT_EQ(cost_line(modelled(), measured),
            "in detail: all of it, about 97 times native; --detail sampled: about 2.5 times");
}

TEST(CostLine, SaysWhatSamplesCostAndAllOfItWould) {
  session::RecordingConfig config = modelled();
  config.in_units = true;
  config.units.complete = 2'000'000;
  EXPECT_EQ(cost_line(config, kCosts),
            "in detail: the first 2,000,000 instructions, then units of 50,000, about 4.0 times native; "
            "--detail complete: about 97 times");
}

TEST(CostLine, AdvisesNoSamplesOfWhatHasNone) {
  session::RecordingConfig config = modelled();
  config.precise_only = true;
  EXPECT_EQ(cost_line(config, kCosts), "in detail: all of it, about 97 times native");
  config = modelled();
  config.log_sharing = true;
  EXPECT_EQ(cost_line(config, kCosts), "in detail: all of it, about 97 times native");
  EXPECT_EQ(cost_line({}, kCosts), "") << "nothing is modelled";
}

TEST(Costs, AreToldInTwoDigits) {
  EXPECT_EQ(times_text(1.0), "1.0");
  EXPECT_EQ(times_text(1.26), "1.3");
  EXPECT_EQ(times_text(9.96), "10");
  EXPECT_EQ(times_text(47.4), "47");
  EXPECT_EQ(times_text(162.4), "160");
  EXPECT_EQ(times_text(1849), "1800");
}

}  // namespace
}  // namespace zs::cli
