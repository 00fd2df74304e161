#include "machine/pc_identity.h"

#include <gtest/gtest.h>

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

TEST(PcCpuid, AModelThatOffersX2apicListsTheTopologyOfItsOneProcessor) {
  Processor p;
  for (const arch::CpuModel& model : arch::cpu_models()) {
    PcCpuid cpuid{model, model.quirks, p.apic};
    ASSERT_GE(cpuid.cpuid(0, 0).eax, 0x0Bu) << model.name;
    ASSERT_NE(cpuid.cpuid(1, 0).ecx & 1u << 21, 0u) << model.name;
    const CpuidResult smt = cpuid.cpuid(0x0B, 0), core = cpuid.cpuid(0x0B, 1), beyond = cpuid.cpuid(0x0B, 2);
    EXPECT_EQ(smt.ebx, 1u) << model.name;
    EXPECT_EQ(smt.ecx, 0x100u) << model.name;
    EXPECT_EQ(core.ebx, 1u) << model.name;
    EXPECT_EQ(core.ecx, 0x201u) << model.name;
    EXPECT_EQ(beyond.eax | beyond.ebx | beyond.ecx >> 8, 0u) << model.name;
    EXPECT_EQ(smt.edx | core.edx | beyond.edx, 0u) << "the x2APIC ID, " << model.name;
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
