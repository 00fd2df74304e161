// What the PMU asks of the system around it: memory for the Debug Store, a line for the PMI, clocks, vector registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/counter_set.h"
#include "arch/retired.h"

namespace zs::pmu {

/// Linear memory as the Debug Store mechanism reaches it: with the rights of CPL 0, at any alignment, across pages. In
/// a machine these are accesses of the processor: they set A and D bits and go through paging.
class LinearMemory {
 public:
  virtual ~LinearMemory() = default;
  /// returns false if any byte is not accessible; then nothing was transferred. Pmu::take_ds_fault() tells the access
  virtual bool read(std::uint64_t address, std::span<std::byte> into) = 0;
  virtual bool write(std::uint64_t address, std::span<const std::byte> from) = 0;
};

/// The performance-monitoring interrupt line of one logical processor.
class PmiSink {
 public:
  virtual ~PmiSink() = default;
  virtual void request_pmi() = 0;
  /// Instruction-based sampling has a sample. Its interrupt goes by an entry of the APIC's extended ones, that which
  /// IBS_CTL names; who has one line for everything hears of it there.
  virtual void request_ibs() { request_pmi(); }
  /// No wire: an instruction made these counters overflow, which no register tells. Called before the interrupt that
  /// follows from it, if one does. What is of the nature of time has no such instruction.
  virtual void overflowed(arch::CounterSet /*counters*/, const arch::Retired& /*by*/) {}
};

/// Time-stamp counter of one logical processor, in ticks, and its core clock if there is one.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t tsc() = 0;
  /// Whether core_cycles() means something. Asked once. Without it the cycle counts of LBR entries read 0.
  virtual bool has_core_cycles() const { return false; }
  virtual std::uint64_t core_cycles() { return 0; }
};

/// The low 128 bits of XMM0 to XMM15, for the XMM group of adaptive PEBS records.
class VectorRegisters {
 public:
  virtual ~VectorRegisters() = default;
  virtual void read_xmm(std::span<std::byte, 256> into) = 0;
};

}  // namespace zs::pmu
