#include "cli/host_model.h"

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
    return (*model_of_host(processor("GenuineIntel", 6, model), "--model"))->name;
  };
  EXPECT_EQ(named(0x55), "skylake-server@1");
  EXPECT_EQ(named(0x6A), "icelake-server@1");
  EXPECT_EQ(named(0x8F), "sapphire-rapids@1");
  EXPECT_EQ(named(0x3C), "haswell@1");
  EXPECT_EQ(named(0x25), "westmere@1");
  EXPECT_EQ((*model_of_host(processor("AuthenticAMD", 0x19, 0x61), "--model"))->name, "zen4@1");
}

TEST(HostModel, NamesAProcessorThatThereIsNoModelOf) {
  for (const auto& facts : {processor("AuthenticAMD", 0x1A, 0x02), processor("GenuineIntel", 6, 0xCF),
                            processor("AuthenticAMD", 6, 0x55), processor("GenuineIntel", 0x19, 0x61)}) {
    const auto model = model_of_host(facts, "--model");
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message, HasSubstr(facts.vendor));
    EXPECT_THAT(model.error().hint, HasSubstr("skylake-server@1"));
  }
  EXPECT_EQ(model_of_host(processor("AuthenticAMD", 0x1A, 0x02), "--model").error().message,
            "--model host: there is no CPU model of this machine's processor (AuthenticAMD family 1AH model 2H)");
}

}  // namespace
}  // namespace zs::cli
