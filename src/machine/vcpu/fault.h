// How an instruction ends early: a processor exception, or something this CPU refuses to play.
#pragma once

#include <cstdint>

namespace zs::machine::vcpu {

enum Vector : std::uint8_t {
  kDivideError = 0,
  kDebug = 1,
  kNmi = 2,
  kBreakpoint = 3,
  kOverflow = 4,
  kBoundRange = 5,
  kInvalidOpcode = 6,
  kDeviceNotAvailable = 7,
  kDoubleFault = 8,
  kInvalidTss = 10,
  kNotPresent = 11,
  kStackFault = 12,
  kGeneralProtection = 13,
  kPageFault = 14,
  kX87Error = 16,
  kAlignmentCheck = 17,
  kMachineCheck = 18,
  kSimdError = 19,
};

/// Thrown by an instruction that cannot complete; everything is as it was before it (CR2 aside).
struct Fault {
  std::uint8_t vector = 0;
  bool has_error = false;
  std::uint32_t error = 0;
};

/// Thrown where the guest asks for something that is refused by name.
struct Refusal {
  const char* what;
};

/// Thrown at a breakpoint of the monitor, before the instruction.
struct MonitorStop {
  std::uint64_t linear;
};

[[noreturn]] inline void raise_gp(std::uint32_t error = 0) { throw Fault{kGeneralProtection, true, error}; }
/// With the selector as error code.
[[noreturn]] inline void selector_fault(std::uint8_t vector, std::uint16_t selector) {
  throw Fault{vector, true, selector & 0xFFFCu};
}
[[noreturn]] inline void raise_ud() { throw Fault{kInvalidOpcode, false, 0}; }

}  // namespace zs::machine::vcpu
