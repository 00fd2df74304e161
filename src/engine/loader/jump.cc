// jump_to_entry(): the state in which the kernel starts a program, made by hand.
#include <asm/prctl.h>
#include <signal.h>

#include <cstdint>

#include "arch/this_processor.h"
#include "base/check.h"
#include "engine/loader/program.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// A standard-format XSAVE area that says: every component in its initial state. XRSTOR still reads MXCSR from it.
/// source: SDM vol. 1, "Operation of XRSTOR"; field offsets: table "Format of an XSAVE area, legacy region".
struct alignas(64) InitialState {
  std::uint8_t legacy_low[24] = {};
  std::uint32_t mxcsr = 0x1f80;
  std::uint8_t legacy_high[512 - 28] = {};
  std::uint8_t header[64] = {};
  std::uint8_t extended[15360] = {};  // never read: XSTATE_BV is 0
};
static_assert(sizeof(InitialState) == 512 + 64 + 15360);

constinit InitialState initial_state;
std::uint64_t entry_address;
std::uint64_t entry_stack;

/// The kernel starts programs with its own PKRU, not with the initial one of all zeros.
constexpr unsigned kPkru = 1u << 9;

/// Handlers of the tool must not meet the program's signals; what is ignored stays ignored, as across execve.
void forget_handlers() {
  struct KernelAction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  };
  constexpr int kSignals = 64;
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction action{};
    if (is_error(raw_syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask))) continue;
    if (action.handler == SIG_IGN || action.handler == SIG_DFL) continue;
    action = {};
    raw_syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
  }
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  raw_syscall(SYS_sigaltstack, &none, nullptr);
}

}  // namespace

void jump_to_entry(std::uint64_t entry, std::uint64_t stack_pointer) {
  entry_address = entry;
  entry_stack = stack_pointer;
  const bool xsave = arch::xcr0_here() != 0;
  forget_handlers();
  // Nothing below may use the stack protector or any other thread-local: FS is the program's from here.
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, 0L);
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, 0L);
  if (xsave) {
    asm volatile("xrstor %0" : : "m"(initial_state), "a"(~kPkru), "d"(-1));
  } else {
    asm volatile("fninit; ldmxcsr %0" : : "m"(initial_state.mxcsr));
  }
  asm volatile(
      "mov %[stack], %%rsp\n"
      "pushq $0x202\n"  // all flags clear, interrupts on
      "popfq\n"
      "movq $0, -8(%%rsp)\n"  // leave nothing below the stack pointer
      "mov $0, %%eax\n"
      "mov %%rax, %%rbx\n"
      "mov %%rax, %%rcx\n"
      "mov %%rax, %%rdx\n"
      "mov %%rax, %%rsi\n"
      "mov %%rax, %%rdi\n"
      "mov %%rax, %%rbp\n"
      "mov %%rax, %%r8\n"
      "mov %%rax, %%r9\n"
      "mov %%rax, %%r10\n"
      "mov %%rax, %%r11\n"
      "mov %%rax, %%r12\n"
      "mov %%rax, %%r13\n"
      "mov %%rax, %%r14\n"
      "mov %%rax, %%r15\n"
      "jmp *%[entry]\n"
      :
      : [stack] "m"(entry_stack), [entry] "m"(entry_address)
      : "memory");
  CHECK(false && "the program returned to its loader");
  __builtin_unreachable();
}

}  // namespace zs::engine
