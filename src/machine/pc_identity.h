// What the PC's processor says it is, beyond its PMU: CPUID, and the MSRs that neither the CPU core, the PMU nor the
// APIC answers. PMU bits come from the CPU model; the rest is one processor: what the interpreter executes, no more.
#pragma once

#include <cstdint>
#include <map>

#include "arch/quirks.h"
#include "machine/vcpu/interfaces.h"

namespace zs::arch {
struct CpuModel;
}
namespace zs::pmu {
class Pmu;
}

namespace zs::machine {

class Clock;
class LocalApic;

class PcCpuid : public Cpuid {
 public:
  PcCpuid(const arch::CpuModel& model, arch::QuirkSet quirks, const LocalApic& apic)
      : model_(model), quirks_(quirks), apic_(apic) {}
  CpuidResult cpuid(std::uint32_t leaf, std::uint32_t subleaf) override;

 private:
  const arch::CpuModel& model_;
  arch::QuirkSet quirks_;
  const LocalApic& apic_;
};

class PcMsrs : public MsrFile {
 public:
  PcMsrs(const arch::CpuModel& model, const Clock& clock, LocalApic& apic, pmu::Pmu& pmu)
      : model_(model), clock_(clock), apic_(apic), pmu_(pmu) {}
  void set_cpu(Vcpu& cpu) { cpu_ = &cpu; }

  bool rdmsr(std::uint32_t msr, std::uint64_t& value) override;
  bool wrmsr(std::uint32_t msr, std::uint64_t value) override;
  bool rdpmc(std::uint32_t ecx, std::uint64_t& value) override;

  /// Reads and writes so far, RDTSC and RDPMC among them.
  std::uint64_t accesses() const { return accesses_; }
  /// The time-stamp counter as software sees it.
  std::uint64_t tsc() const;

 private:
  const arch::CpuModel& model_;
  const Clock& clock_;
  LocalApic& apic_;
  pmu::Pmu& pmu_;
  Vcpu* cpu_ = nullptr;
  std::uint64_t accesses_ = 0;
  std::uint64_t tsc_offset_ = 0, misc_enable_ = 1;
  std::map<std::uint32_t, std::uint64_t> stored_;  // those that only remember
};

}  // namespace zs::machine
