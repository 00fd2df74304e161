// What the PMU asks of the system around it: memory for the Debug Store, a line for the PMI, a time stamp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zs::pmu {

/// Linear memory as the Debug Store mechanism reaches it.
class LinearMemory {
 public:
  virtual ~LinearMemory() = default;
  /// returns false if any byte is not accessible; then nothing was transferred
  virtual bool read(std::uint64_t address, std::span<std::byte> into) = 0;
  virtual bool write(std::uint64_t address, std::span<const std::byte> from) = 0;
};

/// The performance-monitoring interrupt line of one logical processor.
class PmiSink {
 public:
  virtual ~PmiSink() = default;
  virtual void request_pmi() = 0;
};

/// Time-stamp counter of one logical processor, in ticks.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t tsc() = 0;
};

}  // namespace zs::pmu
