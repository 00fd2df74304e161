// Whether what runs can ever do anything else. Two proofs:
//   EndlessLoop      the processor's whole state comes again, and between the two nothing was stored, no device, MSR or
//                    time-stamp counter was asked and nothing interrupted: so it comes for ever
//   returns_to_halt  code behind a HLT that leads back to it and does nothing on the way
#pragma once

#include <cstdint>

#include "machine/vcpu/cpu_state.h"

namespace zs::machine {

class Vcpu;

class EndlessLoop {
 public:
  /// Starts at the state that the CPU has.
  explicit EndlessLoop(const Vcpu& cpu);
  /// After each instruction. returns whether the state was met before
  bool closed(const Vcpu& cpu);
  /// Instructions of the loop, once it is closed.
  std::uint64_t length() const { return steps_; }

 private:
  CpuState met_;
  std::uint64_t steps_ = 0, keep_ = 1;  // steps since met_; after how many the present state takes its place
};

/// The CPU has just executed a HLT in real mode.
bool returns_to_halt(Vcpu& cpu);

}  // namespace zs::machine
