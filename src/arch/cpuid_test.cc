#include "arch/cpuid.h"

#include <gtest/gtest.h>

namespace zs::arch {
namespace {

const CpuModel& model(const char* name) { return *find_cpu_model(name); }

// source: CPUID dumps of the parts that the rows name.
TEST(Cpuid, AnswersLeaf0AHAsThePartsDo) {
  const struct {
    const char* name;
    CpuidLeaf leaf;
  } rows[] = {{"westmere", {0x0730'0403, 0x4, 0, 0x603}},        {"nehalem", {0x0730'0403, 0x44, 0, 0x603}},
              {"haswell", {0x0730'0403, 0, 0, 0x603}},           {"skylake-client", {0x0730'0404, 0, 0, 0x603}},
              {"ivybridge", {0x0730'0403, 0, 0, 0x603}},         {"icelake-server", {0x0830'0805, 0, 0xF, 0x8604}},
              {"sapphire-rapids", {0x0830'0805, 0, 0xF, 0x8604}}};
  for (const auto& row : rows) {
    const auto leaf = pmu_leaf(model(row.name), 0x0A, 0);
    ASSERT_TRUE(leaf) << row.name;
    EXPECT_EQ(leaf->eax, row.leaf.eax) << row.name;
    EXPECT_EQ(leaf->ebx, row.leaf.ebx) << row.name;
    EXPECT_EQ(leaf->ecx, row.leaf.ecx) << row.name;
    EXPECT_EQ(leaf->edx, row.leaf.edx) << row.name;
  }
}

TEST(Cpuid, ListsLbrDepthsOfArchitecturalLbrsOnly) {
  const auto sapphire = pmu_leaf(model("sapphire-rapids"), 0x1C, 0);
  ASSERT_TRUE(sapphire);
  EXPECT_EQ(sapphire->eax, 0x4000'000BU);
  EXPECT_EQ(sapphire->ebx, 7U);
  EXPECT_EQ(sapphire->ecx, 7U);
  EXPECT_EQ(pmu_leaf(model("skylake-server"), 0x1C, 0)->eax, 0U);
  EXPECT_FALSE(pmu_leaf(model("sapphire-rapids"), 0x1B, 0));
}

TEST(Cpuid, TellsOfTheDebugStoreInLeaf1) {
  for (const CpuModel& cpu : cpu_models()) {
    if (cpu.vendor != Vendor::Intel) continue;
    const CpuidBits bits = pmu_bits(cpu, 1, 0);
    EXPECT_EQ(bits.value.eax, cpu.signature) << cpu.name;
    EXPECT_EQ(bits.value.ecx, 0x8014U) << cpu.name << ": DTES64, DS-CPL, PDCM";
    EXPECT_EQ(bits.value.edx, 0x20'0000U) << cpu.name << ": DS";
    EXPECT_EQ(bits.mask.ecx, 0x8014U);
  }
  EXPECT_EQ(pmu_bits(model("westmere"), 1, 0, {Quirk::Ds32}).value.ecx, 0x8010U);
}

// source: APM vol. 3, functions 8000'0001H and 8000'0022H.
TEST(Cpuid, TellsOfAmdsCountersInLeavesOfTheirOwn) {
  const CpuModel& zen4 = model("zen4");
  const CpuidBits leaf1 = pmu_bits(zen4, 1, 0);
  EXPECT_EQ(leaf1.value.eax, 0x00A6'0F12U);
  EXPECT_EQ(leaf1.value.ecx & leaf1.mask.ecx, 0U) << "no Debug Store, no capabilities";
  EXPECT_EQ(leaf1.value.edx & leaf1.mask.edx, 0U);
  EXPECT_EQ(pmu_bits(zen4, 0x8000'0001, 0).value.ecx, 1U << 23 | 1U << 10) << "and instruction-based sampling";
  const auto leaf = pmu_leaf(zen4, 0x8000'0022, 0);
  ASSERT_TRUE(leaf);
  EXPECT_EQ(leaf->eax, 3U) << "PerfMonV2 and the last-branch stack, which no PMI freezes";
  EXPECT_EQ(leaf->ebx, 0x106U) << "six counters, 16 records";
  CpuModel freezes = zen4;
  freezes.lbr_freeze = freezes.counter_freeze = FreezeKind::Streamlined;
  ASSERT_TRUE(is_consistent(freezes));
  EXPECT_EQ(pmu_leaf(freezes, 0x8000'0022, 0)->eax, 7U);
  EXPECT_EQ(pmu_leaf(zen4, 0x0A, 0)->eax, 0U) << "no architectural performance monitoring";
  EXPECT_FALSE(pmu_leaf(model("haswell"), 0x8000'0022, 0));
  EXPECT_EQ(pmu_leaf(zen4, 0x8000'001B, 0)->eax, 0xBFFU);
  EXPECT_FALSE(pmu_leaf(model("haswell"), 0x8000'001B, 0));
  EXPECT_EQ(pmu_bits(model("haswell"), 0x8000'0001, 0).mask.ecx, 0U);
}

TEST(Cpuid, TellsOfArchitecturalLbrsInLeaf7) {
  EXPECT_EQ(pmu_bits(model("sapphire-rapids"), 7, 0).value.edx, 1U << 19);
  EXPECT_EQ(pmu_bits(model("icelake-server"), 7, 0).value.edx, 0U);
  EXPECT_EQ(pmu_bits(model("icelake-server"), 7, 1).mask.edx, 0U) << "subleaf 1 has nothing of the PMU";
}

// As the words of the capabilities add up: LBR and PEBS formats, and what the bits above them promise.
TEST(PerfCapabilities, AreThoseOfTheParts) {
  EXPECT_EQ(model("haswell").capabilities.raw(), 0x32C4U);
  EXPECT_EQ(model("skylake-client").capabilities.raw(), 0x33C5U);
  EXPECT_EQ(model("westmere").capabilities.raw(), 0x11C3U);
  EXPECT_EQ(model("icelake-server").capabilities.raw(), 0xF4C5U);
  EXPECT_EQ(model("sapphire-rapids").capabilities.raw(), 0xF4FFU);
  EXPECT_EQ(model("goldmont").capabilities.raw(), 0x33C6U);
}

}  // namespace
}  // namespace zs::arch
