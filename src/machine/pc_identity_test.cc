#include "machine/pc_identity.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <iterator>
#include <string>

#include "arch/cpu_model.h"
#include "machine/clock.h"
#include "machine/devices/local_apic.h"
#include "machine/devices/pic.h"

namespace zs::machine {
namespace {

struct NoPins : CpuPins {
  void interrupt_line(bool) override {}
  void nmi() override {}
  void smi() override {}
  void init() override {}
};

struct Processor {
  NoPins pins;
  Clock clock;
  Pic pic;
  LocalApic apic{pins, clock, pic};
};

TEST(PcCpuid, AModelThatOffersX2apicListsTheTopologyOfItsOneProcessorAndOthersEndAtTheLeafBefore) {
  Processor p;
  for (const arch::CpuModel& model : arch::cpu_models()) {
    SCOPED_TRACE(model.name);
    PcCpuid cpuid{model, model.quirks, p.apic};
    ASSERT_EQ((cpuid.cpuid(1, 0).ecx & 1u << 21) != 0, model.x2apic);
    if (!model.x2apic) {
      EXPECT_EQ(cpuid.cpuid(0, 0).eax, 0x0Au);
      continue;
    }
    ASSERT_GE(cpuid.cpuid(0, 0).eax, 0x0Bu);
    const CpuidResult smt = cpuid.cpuid(0x0B, 0), core = cpuid.cpuid(0x0B, 1), beyond = cpuid.cpuid(0x0B, 2);
    EXPECT_EQ(smt.ebx, 1u);
    EXPECT_EQ(smt.ecx, 0x100u);
    EXPECT_EQ(core.ebx, 1u);
    EXPECT_EQ(core.ecx, 0x201u);
    EXPECT_EQ(beyond.eax | beyond.ebx | beyond.ecx >> 8, 0u);
    EXPECT_EQ(smt.edx | core.edx | beyond.edx, 0u) << "the x2APIC ID";
  }
}

// source: SDM vol. 4, tables of MSRs: the x2APIC's appear with Nehalem, IA32_TSC_DEADLINE with Sandy Bridge.
TEST(PcCpuid, X2apicCameWithNehalemAndTheTscDeadlineWithSandyBridge) {
  Processor p;
  const auto offers = [&p](std::string_view name, unsigned bit) {
    const arch::CpuModel* const model = arch::find_cpu_model(name);
    return (PcCpuid{*model, {}, p.apic}.cpuid(1, 0).ecx >> bit & 1) != 0;
  };
  for (const std::string_view name : {"core2", "nehalem", "westmere"}) EXPECT_FALSE(offers(name, 24)) << name;
  for (const std::string_view name : {"ivybridge", "goldmont", "sapphire-rapids"})
    EXPECT_TRUE(offers(name, 24)) << name;
  EXPECT_FALSE(offers("core2", 21));
  EXPECT_TRUE(offers("nehalem", 21));
}

std::string letters(std::initializer_list<std::uint32_t> words) {
  std::string text;
  for (std::uint32_t word : words) {
    for (int i = 0; i < 4; ++i, word >>= 8) text += static_cast<char>(word);
  }
  return text;
}

// source: CPUID dump of a Ryzen 9 7950X. There each cache says how many threads share it; here there is one.
TEST(PcCpuid, Zen4IsAmdsWithItsCachesAndCountersInLeavesOfItsOwn) {
  Processor p;
  const arch::CpuModel& zen4 = *arch::find_cpu_model("zen4");
  PcCpuid cpuid{zen4, {}, p.apic};
  const CpuidResult first = cpuid.cpuid(0, 0), extended = cpuid.cpuid(0x80000000, 0);
  EXPECT_EQ(letters({first.ebx, first.edx, first.ecx}), "AuthenticAMD");
  EXPECT_EQ(extended.eax, 0x80000022u);
  EXPECT_EQ(letters({extended.ebx, extended.edx, extended.ecx}), "AuthenticAMD");
  EXPECT_EQ(cpuid.cpuid(1, 0).eax, 0x00A60F12u);
  EXPECT_EQ(cpuid.cpuid(0x80000001, 0).eax, 0x00A60F12u);
  EXPECT_EQ(cpuid.cpuid(0x80000001, 0).ecx & (1u << 22 | 1u << 23), 1u << 22 | 1u << 23);
  EXPECT_EQ(cpuid.cpuid(1, 0).edx & 1u << 21, 0u) << "no Debug Store";
  EXPECT_EQ(cpuid.cpuid(0x0A, 0).eax, 0u);
  EXPECT_EQ(cpuid.cpuid(0x80000022, 0).eax, 3u);
  EXPECT_EQ(cpuid.cpuid(0x80000022, 0).ebx, 0x106u);
  const std::uint32_t caches[][4] = {{0x121, 0x01C0003F, 0x3F, 0},
                                     {0x122, 0x01C0003F, 0x3F, 0},
                                     {0x143, 0x01C0003F, 0x7FF, 2},
                                     {0x163, 0x03C0003F, 0x7FFF, 1},
                                     {0, 0, 0, 0}};
  for (std::uint32_t i = 0; i < std::size(caches); ++i) {
    const CpuidResult leaf = cpuid.cpuid(0x8000001D, i);
    EXPECT_EQ(leaf.eax, caches[i][0]) << i;
    EXPECT_EQ(leaf.ebx, caches[i][1]) << i;
    EXPECT_EQ(leaf.ecx, caches[i][2]) << i;
    EXPECT_EQ(leaf.edx, caches[i][3]) << i;
  }
  for (const std::uint32_t beyond : {0x0Cu, 0x40000000u, 0x80000023u}) EXPECT_EQ(cpuid.cpuid(beyond, 0).ebx, 0u);
  EXPECT_NE(PcCpuid(arch::default_cpu_model(), {}, p.apic).cpuid(0x80000023, 0).ebx, 0u) << "Intel's: the highest leaf";
}

// source: SDM vol. 2, CPUID, "The Processor Brand String Method".
TEST(PcCpuid, TheBrandOfEachModelEndsWithItsFrequency) {
  Processor p;
  for (const arch::CpuModel& model : arch::cpu_models()) {
    std::string brand;
    for (const std::uint32_t leaf : {0x80000002u, 0x80000003u, 0x80000004u}) {
      const CpuidResult part = PcCpuid(model, {}, p.apic).cpuid(leaf, 0);
      for (const std::uint32_t word : {part.eax, part.ebx, part.ecx, part.edx})
        for (unsigned n = 0; n < 4; ++n) brand += static_cast<char>(word >> 8 * n);
    }
    EXPECT_STREQ(brand.c_str(), ("zeroskid " + std::string(model.name) + " CPU @ 2.40GHz").c_str());
    EXPECT_EQ(brand.back(), '\0') << brand;
  }
}

TEST(PcCpuid, WithoutItsApicTheProcessorSaysThatItHasNone) {
  Processor p;
  PcCpuid cpuid{arch::default_cpu_model(), {}, p.apic};
  constexpr std::uint32_t kApic = 1u << 9;
  EXPECT_NE(cpuid.cpuid(1, 0).edx & kApic, 0u);
  ASSERT_TRUE(p.apic.wrmsr(LocalApic::kBaseMsr, LocalApic::kBase));
  EXPECT_EQ(cpuid.cpuid(1, 0).edx & kApic, 0u);
  ASSERT_TRUE(p.apic.wrmsr(LocalApic::kBaseMsr, LocalApic::kBase | 1u << 11));
  EXPECT_NE(cpuid.cpuid(1, 0).edx & kApic, 0u);
}

TEST(PcCpuid, AnIdThatSoftwareWroteDoesNotLastIntoX2apicMode) {
  Processor p;
  p.apic.write(0x20, 0x0500'0000);
  EXPECT_EQ(p.apic.read(0x20), 0x0500'0000u);
  ASSERT_TRUE(p.apic.wrmsr(LocalApic::kBaseMsr, LocalApic::kBase | 3u << 10));
  std::uint64_t id = ~std::uint64_t{0};
  ASSERT_TRUE(p.apic.rdmsr(0x802, id));
  EXPECT_EQ(id, 0u);
}

}  // namespace
}  // namespace zs::machine
