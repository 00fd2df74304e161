#include "arch/cpu_model.h"

#include <gtest/gtest.h>

namespace zs::arch {
namespace {

TEST(CpuModel, IsSkylakeServerVersion1ByDefault) {
  EXPECT_EQ(default_cpu_model().name, "skylake-server@1");
  EXPECT_EQ(default_cpu_model().general_counters, 8);
  EXPECT_EQ(default_cpu_model().pebs_format(), PebsFormat::V3);
  EXPECT_EQ(default_cpu_model().lbr_entries, 32);
}

TEST(CpuModel, IsFoundWithAndWithoutItsVersion) {
  EXPECT_EQ(find_cpu_model("haswell@1"), find_cpu_model("haswell"));
  ASSERT_NE(find_cpu_model("haswell"), nullptr);
  EXPECT_EQ(find_cpu_model("haswell")->pebs_format(), PebsFormat::V2);
}

TEST(CpuModel, IsNotFoundUnderAnotherVersionOrAPartOfItsName) {
  EXPECT_EQ(find_cpu_model("haswell@2"), nullptr);
  EXPECT_EQ(find_cpu_model("hasw"), nullptr);
  EXPECT_EQ(find_cpu_model("@1"), nullptr);
  EXPECT_EQ(find_cpu_model(""), nullptr);
}

TEST(CpuModel, IsConsistentInEveryRow) {
  for (const CpuModel& model : cpu_models()) EXPECT_TRUE(is_consistent(model)) << model.name;
}

TEST(CpuModel, IsOfTheFamilyAndModelThatItsSignatureSays) {
  EXPECT_EQ(identity(*find_cpu_model("skylake-server")), (Identity{6, 0x55, 4}));
  EXPECT_EQ(identity(*find_cpu_model("zen4")), (Identity{0x19, 0x61, 2}));
  EXPECT_EQ(vendor_name(*find_cpu_model("zen4")), "AuthenticAMD");
}

TEST(CpuModel, HasItsCountersWhereItsVendorHasThem) {
  EXPECT_EQ(counter_registers(*find_cpu_model("westmere")).value(1), 0xC2U);
  EXPECT_EQ(counter_registers(*find_cpu_model("haswell")).value(1), 0x4C2U);
  EXPECT_EQ(counter_registers(*find_cpu_model("haswell")).select(1), 0x187U);
  EXPECT_EQ(counter_registers(*find_cpu_model("zen4")).value(5), 0xC001'020BU);
  EXPECT_EQ(counter_registers(*find_cpu_model("zen4")).select(5), 0xC001'020AU);
}

// source: CPUID dumps of the parts that the rows name.
TEST(CpuModel, AnswersLeaf0AHAsThePartDoes) {
  const CpuidLeaf westmere = perfmon_leaf(*find_cpu_model("westmere"));
  EXPECT_EQ(westmere.eax, 0x07300403U);
  EXPECT_EQ(westmere.ebx, 0x00000004U);
  EXPECT_EQ(westmere.edx, 0x00000603U);
  const CpuidLeaf haswell = perfmon_leaf(*find_cpu_model("haswell"));
  EXPECT_EQ(haswell.eax, 0x07300403U);
  EXPECT_EQ(haswell.edx, 0x00000603U);
}

TEST(CpuModel, AnswersLeaf0AHOfSkylakeServerWithEightCountersBecauseItHasNoHyperThreads) {
  const CpuidLeaf leaf = perfmon_leaf(*find_cpu_model("skylake-server"));
  EXPECT_EQ(leaf.eax, 0x07300804U);  // 07300404H with hyper-threading
  EXPECT_EQ(leaf.ebx, 0U);
  EXPECT_EQ(leaf.ecx, 0U);
  EXPECT_EQ(leaf.edx, 0x00000603U);
}

}  // namespace
}  // namespace zs::arch
