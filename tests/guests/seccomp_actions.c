// What a filter of system calls can answer, and what the caller gets: errors, SIGSYS with what it says, the end of a thread or
// of the process; the strictest of several filters; calls known by where they are made.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include "seccomp.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

static long call(long number, long argument) {
  const long result = syscall(number, argument, 2, 3, 4, 5, 6);
  return result == -1 ? -errno : result;
}

extern char behind_call[];
__attribute__((noinline)) static long call_here(long number) {
  long result;
  __asm__ volatile("syscall\n\t.globl behind_call\nbehind_call:" : "=a"(result) : "0"(number), "D"(7L) : "rcx", "r11", "memory");
  return result;
}

static void on_sigsys(int signal, siginfo_t* info, void* context) {
  ucontext_t* const uc = context;
  greg_t* const regs = uc->uc_mcontext.gregs;
  printf("signal %d code %d errno %d syscall %d arch %x; rax %lld rdi %lld; called here %d %d\n", signal, info->si_code,
         info->si_errno, info->si_syscall, info->si_arch, regs[REG_RAX], regs[REG_RDI], info->si_call_addr == behind_call,
         regs[REG_RIP] == (greg_t)behind_call);
  regs[REG_RAX] = 42;
}
static void handle(void) {
  struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
  GUEST_CHECK(sigaction(SIGSYS, &action, NULL) == 0);
}

static void errors(void) {
  answer_call(SYS_getppid, SECCOMP_RET_ERRNO | ENOTTY, 0);
  printf("%ld\n", call(SYS_getppid, 0));
  answer_call(kNoCall, SECCOMP_RET_ERRNO, 0);
  answer_call(kNoCall + 1, SECCOMP_RET_ERRNO | 5000, 0);
  answer_call(kNoCall + 2, SECCOMP_RET_TRACE | 9, 0);
  answer_call(kNoCall + 3, SECCOMP_RET_USER_NOTIF, 0);
  answer_call(kNoCall + 4, SECCOMP_RET_LOG, 0);
  answer_call(kNoCall + 5, SECCOMP_RET_ERRNO | 512, 0);
  for (int i = 0; i < 6; ++i) printf("%ld\n", call_here(kNoCall + i));
  answer_call(SYS_getppid, SECCOMP_RET_ERRNO | EDOM, 0);  // the newest of the same rank
  printf("%ld\n", call(SYS_getppid, 0));
  answer_call(SYS_getppid, SECCOMP_RET_LOG, 0);
  answer_call(SYS_getppid, SECCOMP_RET_TRACE, 0);
  printf("%ld\n", call(SYS_getppid, 0));
}
static void trap(void) {
  handle();
  answer_call(kNoCall, SECCOMP_RET_TRAP | 77, 0);
  printf("%ld\n", call_here(kNoCall));
  answer_call(SYS_exit_group, SECCOMP_RET_TRAP, 0);
  printf("%ld\n", call_here(SYS_exit_group));
  printf("%ld\n", call_here(SYS_exit_group));
}
static void trap_blocked(void) {
  handle();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  answer_call(kNoCall, SECCOMP_RET_TRAP, 0);
  call_here(kNoCall);
}
static void trap_ignored(void) {
  signal(SIGSYS, SIG_IGN);
  answer_call(kNoCall, SECCOMP_RET_TRAP, 0);
  call_here(kNoCall);
}
static void kill_process(void) {
  handle();
  answer_call(kNoCall, SECCOMP_RET_KILL_PROCESS, 0);
  call_here(kNoCall);
}
static void kill_only_thread(void) {
  handle();
  answer_call(kNoCall, SECCOMP_RET_KILL_THREAD, 0);
  call_here(kNoCall);
}
static void unknown_action(void) {
  handle();
  answer_call(kNoCall, 0x7FC10000, 0);
  call_here(kNoCall);
}
static void* makes_call(void* unused) {
  call_here(kNoCall);
  puts("lives");
  return unused;
}
static void kill_other_thread(void) {
  pthread_t thread;
  answer_call(kNoCall, SECCOMP_RET_KILL_THREAD, 0);
  GUEST_CHECK(pthread_create(&thread, NULL, makes_call, NULL) == 0 && pthread_join(thread, NULL) == 0);
  puts("the other one goes on");
}
static void by_place_and_arguments(void) {
  const unsigned place = offsetof(struct seccomp_data, instruction_pointer);
  const uint64_t behind = (uint64_t)(uintptr_t)behind_call;
  const struct sock_filter program[] = {LOAD(arch), JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 0, 8),
                                        INSN(BPF_LD | BPF_W | BPF_ABS, place), JUMP(BPF_JEQ, (unsigned)behind, 0, 6),
                                        INSN(BPF_LD | BPF_W | BPF_ABS, place + 4), JUMP(BPF_JEQ, behind >> 32, 0, 4),
                                        LOAD(args[0]), JUMP(BPF_JEQ, 7, 0, 2),
                                        LOAD(nr), RETURN(SECCOMP_RET_ERRNO | ECHILD),
                                        RETURN(SECCOMP_RET_ALLOW)};
  GUEST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && set_filter(program, 11, 0) == 0);
  printf("%ld %d\n", call_here(SYS_getpid), call(SYS_getpid, 7) == getpid());
}
static void strict(void) {
  GUEST_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  GUEST_CHECK(write(1, "strict\n", 7) == 7);
  char none;
  GUEST_CHECK(read(-1, &none, 1) == -1 && errno == EBADF);
  syscall(SYS_exit, 3);
}
static void strict_breaks(void) {
  GUEST_CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
  getpid();
}

int main(void) {
  in_child("errors", errors);
  in_child("trap", trap);
  in_child("trap that is blocked", trap_blocked);
  in_child("trap that is ignored", trap_ignored);
  in_child("kill the process", kill_process);
  in_child("kill the only thread", kill_only_thread);
  in_child("unknown action", unknown_action);
  in_child("kill another thread", kill_other_thread);
  in_child("by place and arguments", by_place_and_arguments);
  in_child("strict", strict);
  in_child("strict, and another call", strict_breaks);
  return 0;
}
