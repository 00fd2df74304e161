// The one clock of the virtual PC. Retired instructions move it; everything that tells time reads it: the time-stamp
// counter, the APIC timer, the 8254, the real-time clock and the PMU's cycle events. Host time is nowhere in it.
//
// Where no core model is attached (attached_core.h), each retired instruction takes kCyclesPerInstruction core cycles.
// A REP string instruction is one instruction. An access to a port takes kPortTicks more, which the core waits. Halted,
// the clock jumps to the next thing that can happen.
#pragma once

#include <cstdint>

namespace zs::machine {

inline constexpr std::uint64_t kCyclesPerInstruction = 1;
/// chosen: round numbers in the range of the machines that the CPU models are of.
inline constexpr std::uint64_t kTscHz = 2'400'000'000;  // also the core clock: no turbo, no throttling
inline constexpr std::uint64_t kBusHz = 100'000'000;    // what the APIC timer divides, and event 3CH/01H counts
inline constexpr std::uint64_t kTscTicksPerBusTick = kTscHz / kBusHz;

/// chosen: a microsecond, what a port of an ISA bus takes; software that waits so many accesses counts on it.
inline constexpr std::uint64_t kPortTicks = kTscHz / 1'000'000;

/// "Nothing will happen by itself."
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

class Clock {
 public:
  /// Ticks since power-up, at kTscHz. The time-stamp counter is this plus what software has written to it.
  std::uint64_t now() const { return now_; }
  void advance(std::uint64_t ticks) { now_ += ticks; }

 private:
  std::uint64_t now_ = 0;
};

/// Something whose state follows from time: it is asked when it will act next, and told when that moment has come.
class TimedDevice {
 public:
  virtual ~TimedDevice() = default;
  /// The clock value at which something will happen, or kNever.
  virtual std::uint64_t deadline() const = 0;
  /// The clock has moved: does everything whose time has come.
  virtual void clock_moved() = 0;
};

}  // namespace zs::machine
