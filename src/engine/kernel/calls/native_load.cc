#include "engine/kernel/calls/native_load.h"

#include <asm/prctl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/host_stack.h"
#include "engine/kernel/signals/signal_frame.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// What the oracle finds in rax at the INT3 before the entry of a natively loaded program: "ZEROSKID".
constexpr std::uint64_t kNativeLoadMark = 0x5A45524F534B4944;
constexpr std::size_t kHandlerStackBytes = 256 << 10;

// prctl(PR_SET_SYSCALL_USER_DISPATCH) and arch_prctl(ARCH_SET_CPUID); not in every libc's headers.
constexpr int kSetSyscallUserDispatch = 59, kDispatchOn = 1;
constexpr int kArchSetCpuid = 0x1012;

/// Read by the kernel at every system call: 0 passes, 1 dispatches.
volatile char selector = 0;

/// The engine's, while the program runs on the processor's own FS and GS.
std::uint64_t own_fs_base = 0;

std::uint64_t get_base(int which) {
  std::uint64_t base = 0;
  raw_syscall(SYS_arch_prctl, which, &base);
  return base;
}

}  // namespace

NativeLoad* NativeLoad::instance = nullptr;

void native_signal_entry(int signal, siginfo_t* info, void* raw_context) {
  selector = 0;
  NativeLoad& native = *NativeLoad::instance;
  Context& context = native.kernel_.run.context;
  const std::uint64_t fs = get_base(ARCH_GET_FS);
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, own_fs_base);
  context.fs_base = fs;
  context.gs_base = get_base(ARCH_GET_GS);
  native.on_signal(signal, info, static_cast<ucontext_t*>(raw_context));
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, context.fs_base);
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, context.gs_base);
  selector = 1;
}

void NativeLoad::on_signal(int signal, siginfo_t* info, ucontext_t* uc) {
  Run& run = kernel_.run;
  greg_t* regs = uc->uc_mcontext.gregs;
  for (int reg = 0; reg < 16; ++reg) run.context.gpr[reg] = static_cast<std::uint64_t>(regs[kSavedAt[reg]]);
  run.context.flags = static_cast<std::uint64_t>(regs[REG_EFL]);
  run.thread->pc = static_cast<std::uint64_t>(regs[REG_RIP]);
  if (signal == SIGSYS)
    on_call(info->si_syscall, regs, uc);
  else
    on_fault(signal, regs);
}

void NativeLoad::on_call(long number, greg_t* regs, ucontext_t* uc) {
  Thread& thread = *kernel_.run.thread;
  const long a[6] = {regs[REG_RDI], regs[REG_RSI], regs[REG_RDX], regs[REG_R10], regs[REG_R8], regs[REG_R9]};
  if (number == SYS_rt_sigreturn) {
    // The program's own handler returns: its frame replaces ours.
    const auto at = static_cast<std::uint64_t>(regs[REG_RSP]);
    KernelUcontext theirs;
    if (read_guest(at, &theirs, sizeof theirs) != sizeof theirs) return;
    std::memcpy(regs, theirs.context.registers, sizeof theirs.context.registers);
    std::memcpy(&uc->uc_sigmask, &theirs.mask, 8);
    if (theirs.context.fpstate != 0) read_guest(theirs.context.fpstate, uc->uc_mcontext.fpregs, xsave_bytes());
    return;
  }
  long result = 0;
  switch (number) {
    case SYS_rt_sigprocmask:
      std::memcpy(&thread.mask, &uc->uc_sigmask, 8);
      result = kernel_.signals.set_mask(static_cast<int>(a[0]), static_cast<std::uint64_t>(a[1]),
                                        static_cast<std::uint64_t>(a[2]), static_cast<std::uint64_t>(a[3]));
      std::memcpy(&uc->uc_sigmask, &thread.mask, 8);
      break;
    case SYS_rt_sigaction:
      result = a[0] == SIGSYS || a[0] == SIGSEGV ? 0 : raw_syscall(number, a[0], a[1], a[2], a[3]);
      break;
    case SYS_exit:
    case SYS_exit_group:
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_execve:
    case SYS_execveat: result = raw_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]); break;
    default: result = kernel_.calls.call({number, a}).result;
  }
  regs[REG_RAX] = result;
}

// RDTSC, RDTSCP or CPUID under --virtual-time; anything else is the program's own fault, and the next try is deadly.
void NativeLoad::on_fault(int signal, greg_t* regs) {
  Run& run = kernel_.run;
  const auto code = kernel_.code.fetch(run.thread->pc);
  const auto insn = decode(run.thread->pc, code, {.virtual_time = true});
  if (!insn || insn->flow != Flow::Emulated) {
    const KernelSigaction fatal;
    raw_syscall(SYS_rt_sigaction, signal, &fatal, nullptr, 8);
    return;
  }
  Exit exit;
  exit.pc = insn->pc;
  exit.target = insn->next();
  raw_syscall(SYS_arch_prctl, kArchSetCpuid, 1);  // emulating CPUID asks the CPU
  kernel_.emulation.emulate(exit);
  raw_syscall(SYS_arch_prctl, kArchSetCpuid, 0);
  for (int reg = 0; reg < 16; ++reg) regs[kSavedAt[reg]] = static_cast<greg_t>(run.context.gpr[reg]);
  regs[REG_EFL] = static_cast<greg_t>(run.context.flags);
  regs[REG_RIP] = static_cast<greg_t>(run.thread->pc);
}

void NativeLoad::run() {
  const Run& run = kernel_.run;
  own_fs_base = get_base(ARCH_GET_FS);
  stack_t alternate{};
  alternate.ss_sp = map_host_stack(kHandlerStackBytes);
  CHECK(alternate.ss_sp != nullptr);
  alternate.ss_size = kHandlerStackBytes;
  raw_syscall(SYS_sigaltstack, &alternate, nullptr);
  KernelSigaction action;
  action.handler = reinterpret_cast<std::uint64_t>(&native_signal_entry);
  action.flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | kSaRestorer;
  action.restorer = reinterpret_cast<std::uint64_t>(&zs_signal_restorer);
  raw_syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, 8);
  if (run.config.virtual_time) {
    raw_syscall(SYS_rt_sigaction, SIGSEGV, &action, nullptr, 8);
    raw_syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    raw_syscall(SYS_arch_prctl, kArchSetCpuid, 0);  // refused where the CPU cannot; CPUID is then the host's
  }
  const long dispatching = raw_syscall(SYS_prctl, kSetSyscallUserDispatch, kDispatchOn, &zs_signal_restorer,
                                       &zs_signal_restorer_end - &zs_signal_restorer, &selector);
  CHECK(dispatching == 0);
  register std::uint64_t entry_in_r11 asm("r11");
  const std::uint64_t sp = run.program.stack_pointer;
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, 0);
  selector = 1;
  entry_in_r11 = run.program.entry;
  // Handlers stay; so this is not jump_to_entry().
  asm volatile(
      "int3\n\t"
      "mov %[sp], %%rsp\n\t"
      "xor %%eax, %%eax; xor %%ebx, %%ebx; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi\n\t"
      "xor %%ebp, %%ebp; xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r12d, %%r12d\n\t"
      "xor %%r13d, %%r13d; xor %%r14d, %%r14d; xor %%r15d, %%r15d\n\t"
      "mov %%r11, zs_native_entry(%%rip)\n\t"
      "pushq $0x202; popfq; mov $0, %%r11d\n\t"
      "jmp *zs_native_entry(%%rip)\n\t"
      ".pushsection .data; zs_native_entry: .quad 0; .popsection" ::"a"(kNativeLoadMark),
      "r"(entry_in_r11), [sp] "r"(sp)
      : "memory");
  __builtin_unreachable();
}

}  // namespace zs::engine
