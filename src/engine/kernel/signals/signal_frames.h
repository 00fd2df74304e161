// Frames of signal handlers on the program's stack, as the kernel lays them out, and the alternate stack that the
// program asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arch/cpu_level.h"
#include "engine/kernel/signals/signal_frame.h"
#include "engine/run/guest_memory.h"
#include "engine/translate/context.h"

namespace zs::engine {

class SignalFrames {
 public:
  /// level  of the processor that the program sees
  SignalFrames(GuestMemory& memory, ThreadSet& threads, Context& context, arch::CpuLevel level)
      : memory_(memory), threads_(threads), context_(context), level_(level) {}

  /// The running thread goes on in the handler. false: the frame cannot be written.
  bool push(int signal, const siginfo_t& info, const KernelSigaction& action, const Fault* fault);
  /// What rt_sigreturn does. false: there is no frame.
  bool restore();
  /// sigaltstack(2)
  long set_alternate(std::uint64_t stack, std::uint64_t old);

  /// The program's registers as a frame holds them, all but the address of the vector ones.
  KernelUcontext saved_registers() const;
  /// The vector registers and the x87's, with what the kernel puts around them: FpSoftwareBytes, and kFpMagic2 behind.
  std::vector<std::byte> saved_xstate() const;

 private:
  bool on_alternate_stack(std::uint64_t sp) const;

  GuestMemory& memory_;
  ThreadSet& threads_;
  Context& context_;
  arch::CpuLevel level_;
};

}  // namespace zs::engine
