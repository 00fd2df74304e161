// What the kernel lays on a program's stack for a signal handler, and takes back at rt_sigreturn; and where the handler
// returns to.
// source: Linux, arch/x86/include/uapi/asm/sigcontext.h, asm/ucontext.h; arch/x86/kernel/signal.c: struct rt_sigframe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace zs::engine {

constexpr std::uint64_t kSaRestorer = 0x04000000;

/// Where general registers lie among the saved ones, by their encoding (Gpr). REG_RIP and REG_EFL follow them.
inline constexpr int kSavedAt[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct KernelSigcontext {
  std::uint64_t registers[REG_EFL + 1];  // by REG_*
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};
static_assert(sizeof(KernelSigcontext) == 256 && REG_EFL == 17);

struct KernelUcontext {
  std::uint64_t flags, link;
  stack_t stack;
  KernelSigcontext context;
  std::uint64_t mask;
};
static_assert(sizeof(KernelUcontext) == 304);

struct SignalFrame {
  std::uint64_t return_address;
  KernelUcontext uc;
  siginfo_t info;
};
static_assert(sizeof(SignalFrame) == 440);

/// In the 464 to 511 bytes of the FXSAVE image: what follows it.
constexpr std::uint32_t kFpMagic1 = 0x46505853, kFpMagic2 = 0x46505845;
struct FpSoftwareBytes {
  std::uint32_t magic1, extended_size;
  std::uint64_t xfeatures;
  std::uint32_t xstate_size, padding[7];
};
static_assert(sizeof(FpSoftwareBytes) == 48);
constexpr std::size_t kFpSoftwareOffset = 464;

extern "C" {
/// Handlers of the engine return here: rt_sigreturn, and nothing else up to _end.
extern const char zs_signal_restorer;
extern const char zs_signal_restorer_end;
/// In signal_return.S.
void zs_become_program(const KernelUcontext* uc, std::uint64_t* host_rsp);
extern const char zs_was_program;
}

}  // namespace zs::engine
