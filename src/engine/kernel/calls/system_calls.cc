#include "engine/kernel/calls/system_calls.h"

#include <linux/audit.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <utility>

#include "engine/kernel/calls/call_dispatch.h"
#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/call_table.h"
#include "engine/kernel/calls/fixed_machine.h"
#include "engine/kernel/calls/seccomp.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/real_maps.h"
#include "engine/tried_instructions.h"

namespace zs::engine {
namespace {

// System calls by INT 80h: with the numbers and registers of 32-bit programs, whoever makes them. Those whose arguments
// mean the same in 64-bit programs are made as theirs.
// source: Linux, arch/x86/entry/entry_64_compat.S, arch/x86/entry/syscalls/syscall_32.tbl

/// Instead of a number of x86-64: not answered here; set_thread_area and get_thread_area, which it does not have.
constexpr long kRefusedInterrupt = -2, kSetSegment = -3, kGetSegment = -4;

// open is with O_LARGEFILE, which only 64-bit programs have unasked.
constexpr struct {
  std::uint32_t number;
  long native;
} kInterrupts[] = {
    {1, SYS_exit},       {2, SYS_fork},         {3, SYS_read},     {4, SYS_write},     {5, SYS_open},
    {6, SYS_close},      {8, SYS_creat},        {9, SYS_link},     {10, SYS_unlink},   {12, SYS_chdir},
    {15, SYS_chmod},     {20, SYS_getpid},      {27, SYS_alarm},   {29, SYS_pause},    {33, SYS_access},
    {36, SYS_sync},      {37, SYS_kill},        {38, SYS_rename},  {39, SYS_mkdir},    {40, SYS_rmdir},
    {41, SYS_dup},       {42, SYS_pipe},        {45, SYS_brk},     {57, SYS_setpgid},  {60, SYS_umask},
    {63, SYS_dup2},      {64, SYS_getppid},     {65, SYS_getpgrp}, {66, SYS_setsid},   {83, SYS_symlink},
    {85, SYS_readlink},  {91, SYS_munmap},      {94, SYS_fchmod},  {118, SYS_fsync},   {122, SYS_uname},
    {125, SYS_mprotect}, {132, SYS_getpgid},    {133, SYS_fchdir}, {143, SYS_flock},   {158, SYS_sched_yield},
    {183, SYS_getcwd},   {199, SYS_getuid},     {200, SYS_getgid}, {201, SYS_geteuid}, {202, SYS_getegid},
    {224, SYS_gettid},   {252, SYS_exit_group}, {270, SYS_tgkill}, {331, SYS_pipe2},   {355, SYS_getrandom},
    {243, kSetSegment},  {244, kGetSegment}};

long number_behind_interrupt(std::uint32_t number) {
  const auto* const found = std::ranges::find(kInterrupts, number, [](const auto& call) { return call.number; });
  return found != std::end(kInterrupts) ? found->native : kRefusedInterrupt;
}

bool kernel_answers_interrupts() {
  static const bool answers = zs_runs_int80();
  return answers;
}

// The kernel keeps them for the thread, whichever instruction asks for that.
long call_about_segment(const GuestMemory& memory, long number, long descriptor) {
  if (memory.map.is_tools(static_cast<std::uint64_t>(descriptor))) return -EFAULT;
  long result = number == kSetSegment ? 243 : 244;
  asm volatile("int $0x80" : "+a"(result) : "b"(descriptor) : "memory", "r8", "r9", "r10", "r11");
  return result;
}

bool has_vsyscalls() {
  static const bool has = [] {
    const auto maps = read_real_maps();
    return std::ranges::any_of(maps, [](const RealMapping& mapping) { return mapping.path == "[vsyscall]"; });
  }();
  return has;
}

}  // namespace

SystemCalls::SystemCalls(GuestKernel& kernel)
    : kernel_(kernel),
      hidden_memory_(kernel.memory, kernel.thread_set),
      hidden_(kernel.memory, kernel.thread_set, kernel.run.config) {}

void SystemCalls::handle(const Exit& exit) {
  Run& run = kernel_.run;
  Accountant& accountant = kernel_.accountant;
  Thread& thread = *run.thread;
  const bool interrupts = exit.kind == ExitKind::Interrupt;
  if (interrupts && !kernel_answers_interrupts()) {
    constexpr std::uint64_t kGeneralProtection = 13, kGateOfInt80 = 0x402;  // SDM vol. 3A, "Error Code"
    thread.pc = exit.pc;
    thread.step.active = thread.step_traps = false;
    return kernel_.signals.raise_fault(SIGSEGV, SI_KERNEL, 0, kGeneralProtection, kGateOfInt80);
  }
  const auto asked = static_cast<long>(run.gpr(kRax));
  const long number = interrupts ? number_behind_interrupt(static_cast<std::uint32_t>(asked)) : asked;
  const bool holds = call_of(number).has(kEndsImage);
  const bool called_off = holds ? !kernel_.gate.hold() : thread.pending.load(std::memory_order_acquire) != 0;
  if (called_off) {  // a signal's handler runs first, then the call
    thread.pc = exit.pc;
    thread.step.active = thread.step_traps = false;
    return;
  }
  long arguments[6];
  constexpr Gpr kOfSyscall[] = {kRdi, kRsi, kRdx, kR10, kR8, kR9},
                kOfInterrupt[] = {kRbx, kRcx, kRdx, kRsi, kRdi, kRbp};
  for (int i = 0; i < 6; ++i)
    arguments[i] = static_cast<long>(interrupts ? run.gpr(kOfInterrupt[i]) & UINT32_MAX : run.gpr(kOfSyscall[i]));
  thread.pc = exit.target;
  if (!interrupts) {
    run.gpr(kRcx) = exit.target;
    run.gpr(kR11) = run.context.flags;
  }
  accountant.core.take_time_pmi();
  if (thread.cpu.counts_paths) accountant.exits.call_begins();
  // Before the call: another thread may run during it, and it may take memory away.
  if (thread.step.active && thread.cpu.core != nullptr) accountant.core.run_step(true, exit.target);
  bool retired = false;
  const std::int32_t caller = thread.id.pid;
  const auto retire = [&] {
    if (std::exchange(retired, true)) return;
    const bool stepped = thread.step.active;
    accountant.steps.retire(true);
    // Its record has been drained, and where its branch leads is known only here. The child of a fork comes here too,
    // and has not made the call.
    if (!stepped && thread.id.pid == caller)
      accountant.tally.enter_branch({.from = exit.pc, .to = exit.target, .kind = arch::BranchKind::Far});
  };
  if (holds) retire();        // it may not come back
  thread.step_traps = false;  // SYSRET gives the trap flag back, and the instruction behind it is the next to trap
  const bool retires_later = thread.step.active;
  if (kernel_.awaited.any() && !call_of(number).has(kOnlyNames))
    kernel_.awaited.wait_for_arguments({number, arguments});
  if (retires_later) run.observer().in_call(run.ids.shown(thread.id), true);
  std::optional<Outcome> refused;
  if (thread.filters.any() || thread.dispatch.on) {
    seccomp_data data{static_cast<int>(asked), interrupts ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64, exit.target, {}};
    std::ranges::copy(arguments, data.args);
    if (thread.dispatch.on) refused = dispatched(kernel_, data, retire);
    if (!refused && thread.filters.any()) refused = refused_by_filters(kernel_, number, data, retire);
  }
  const Outcome outcome = refused      ? *refused
                          : interrupts ? call_by_interrupt({number, arguments}, exit.pc)
                                       : call({number, arguments});
  if (retires_later) run.observer().in_call(run.ids.shown(thread.id), false);
  if (holds) kernel_.gate.settle();
  // Who asked it to run natively has interrupted the call, which it makes again there.
  const bool again = outcome.result == -EINTR && thread.process->leaves;
  if (outcome.set_result && (outcome.result == kInterruptedBeforeStart || again)) {
    thread.pc = exit.pc;
    thread.step.active = thread.step_traps = false;
    return;
  }
  if (outcome.set_result) run.gpr(kRax) = static_cast<std::uint64_t>(outcome.result);
  retire();
}

Outcome SystemCalls::call_by_interrupt(const CallArguments& made, std::uint64_t pc) {
  if (made.number == kRefusedInterrupt) kernel_.emulation.refuse(pc);
  const bool of_segment = made.number == kSetSegment || made.number == kGetSegment;
  return of_segment ? Outcome{call_about_segment(kernel_.memory, made.number, made.a[0])} : call(made);
}

Outcome SystemCalls::call(const CallArguments& made) {
  if (kernel_.run.config.cpu_level != arch::CpuLevel::Host && made.number > kLastFixedCall) return {-ENOSYS};
  const auto asked = hidden_memory_.replaced(made);
  if (asked != nullptr && asked->known) return {*asked->known};
  // From here on an argument may also point at what the engine has put in place of the program's.
  const CallArguments visible{made.number, asked == nullptr ? made.a : asked->arguments};
  return kernel_.run.config.virtual_time ? calls::in_virtual_time(kernel_, visible) : answer(visible);
}

Outcome SystemCalls::answer(const CallArguments& made) {
  const auto replaced = hidden_.replaced(made);
  if (replaced == nullptr) return answer_shown(made);
  if (replaced->known) return {*replaced->known};
  const Outcome outcome = answer_shown({made.number, replaced->arguments});
  replaced->give_back(kernel_.memory, outcome.result);
  return outcome;
}

Outcome SystemCalls::answer_shown(const CallArguments& made) {
  kernel_.run.map.limit(&kernel_.run.thread->process->limits);
  if (const auto answer = calls::on_proc_path(kernel_, made)) return {*answer};
  if (const auto answer = kernel_.code_files.answer_outside_program(made)) return {*answer};
  const CallHandler handler = call_of(made.number).handler;
  return handler != nullptr ? handler(kernel_, made) : Outcome{kernel_.host.call(made)};
}

// source: Linux, arch/x86/entry/vsyscall/vsyscall_64.c
bool SystemCalls::call_vsyscall(std::uint64_t pc) {
  Run& run = kernel_.run;
  constexpr std::uint64_t kPage = 0xFFFF'FFFF'FF60'0000;
  constexpr struct {
    std::uint64_t at;
    long number;
  } kCalls[] = {{kPage, SYS_gettimeofday}, {kPage + 0x400, SYS_time}, {kPage + 0x800, SYS_getcpu}};
  const auto* const found = std::ranges::find(kCalls, pc, [](const auto& call) { return call.at; });
  if (found == std::end(kCalls) || !has_vsyscalls()) return false;
  const auto back = read_guest_value<std::uint64_t>(run.gpr(kRsp));
  if (!back) return false;
  const long arguments[6] = {static_cast<long>(run.gpr(kRdi)), static_cast<long>(run.gpr(kRsi)),
                             found->number == SYS_getcpu ? 0 : static_cast<long>(run.gpr(kRdx))};
  const Outcome outcome = call({found->number, arguments});
  if (outcome.result == kInterruptedBeforeStart) return true;  // a signal's handler runs first, then the call
  if (outcome.result == -EFAULT) return false;
  run.gpr(kRax) = static_cast<std::uint64_t>(outcome.result);
  run.gpr(kRsp) += sizeof *back;
  run.thread->pc = *back;
  return true;
}

}  // namespace zs::engine
