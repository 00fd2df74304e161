#include "cli/events/host_model.h"

#include <gmock/gmock.h>

namespace zs::cli {
namespace {

using testing::HasSubstr;

host::CpuidFacts processor(const char* vendor, std::uint32_t family, std::uint32_t model) {
  host::CpuidFacts facts;
  facts.vendor = vendor;
  facts.family = family;
  facts.model = model;
  return facts;
}

TEST(HostModel, IsTheCpuModelOfThatFamilyAndModel) {
  const auto named = [](std::uint32_t model) {
    return model_of_host(processor("GenuineIntel", 6, model), "--model")->model->name;
  };
  EXPECT_EQ(named(0x55), "skylake-server@1");
  EXPECT_EQ(named(0x6A), "icelake-server@1");
  EXPECT_EQ(named(0x8F), "sapphire-rapids@1");
  EXPECT_EQ(named(0x3C), "haswell@1");
  EXPECT_EQ(named(0x25), "westmere@1");
  EXPECT_EQ(model_of_host(processor("AuthenticAMD", 0x19, 0x61), "--model")->model->name, "zen4@1");
}

TEST(HostModel, IsTheNearestWhereThereIsNone) {
  const auto nearest = [](const char* vendor, std::uint32_t family, std::uint32_t model) {
    const auto host = model_of_host(processor(vendor, family, model), "--model");
    return host ? std::string(host->model->name) : host.error().message;
  };
  EXPECT_EQ(nearest("GenuineIntel", 6, 0xCF), "sapphire-rapids@1");  // Emerald Rapids
  EXPECT_EQ(nearest("GenuineIntel", 6, 0x9E), "skylake-client@1");   // Coffee Lake
  EXPECT_EQ(nearest("GenuineIntel", 6, 0x2A), "ivybridge@1");        // Sandy Bridge
  EXPECT_EQ(nearest("GenuineIntel", 6, 0x4F), "haswell@1");          // Broadwell server
  EXPECT_EQ(nearest("GenuineIntel", 0x13, 1), "sapphire-rapids@1");
  EXPECT_EQ(nearest("AuthenticAMD", 0x1A, 0x02), "zen4@1");
  EXPECT_EQ(model_of_host(processor("AuthenticAMD", 0x19, 0x01), "--model")->remark,
            "--model host: there is no CPU model of this machine's processor (AuthenticAMD family 19H model 1H): the "
            "nearest is taken, zen4@1");
  EXPECT_EQ(model_of_host(processor("GenuineIntel", 6, 0x55), "--model")->remark, "");
}

TEST(HostModel, NamesAProcessorThatIsLikeNone) {
  for (const auto& facts : {processor("CentaurHauls", 7, 0x3B), processor("GenuineIntel", 0xF, 6),
                            processor("AuthenticAMD", 6, 0x55), processor("GenuineIntel", 5, 4)}) {
    const auto model = model_of_host(facts, "--model");
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message, HasSubstr(facts.vendor));
    EXPECT_THAT(model.error().hint, HasSubstr("skylake-server@1"));
  }
  EXPECT_EQ(model_of_host(processor("CentaurHauls", 7, 0x3B), "--model").error().message,
            "--model host: there is no CPU model of this machine's processor (CentaurHauls family 7H model 3BH)");
}

}  // namespace
}  // namespace zs::cli
