// A program that traces its children: registers, system calls, single steps and memory of a child that asked for it, of one
// that runs, of one that sleeps in a call and of one that was stopped.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static volatile uint64_t flag;
static void wait_for_stop(pid_t child, int signal) {
  int status;
  GUEST_CHECK(waitpid(child, &status, __WALL) == child && WIFSTOPPED(status));
  GUEST_CHECK((WSTOPSIG(status) & 0x7F) == signal);
}
static void says(const char* name, int status) {
  printf("%s: ends, %s %d\n", name, WIFEXITED(status) ? "status" : "signal",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
// A signal that comes as the kernel has just decided to make pause anew is followed by that pause, so it is sent again.
static void detached(pid_t child) {
  int status;
  pid_t ended = 0;
  GUEST_CHECK(ptrace(PTRACE_DETACH, child, 0, 0) == 0);
  for (int n = 0; ended == 0; ended = waitpid(child, &status, n++ < 1000 ? WNOHANG : 0)) {
    GUEST_CHECK(kill(child, SIGUSR1) == 0);
    usleep(5000);
  }
  GUEST_CHECK(ended == child);
  says("detached", status);
}
static struct user_regs_struct registers(pid_t child) {
  struct user_regs_struct regs;
  GUEST_CHECK(ptrace(PTRACE_GETREGS, child, 0, &regs) == 0);
  return regs;
}

// Its calls, with the number and the result of each.
static void calls(void) {
  const pid_t child = fork();
  if (child == 0) {
    GUEST_CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    raise(SIGSTOP);
    syscall(SYS_getppid);
    syscall(SYS_dup, -1);
    syscall(SYS_alarm, 0);
    _exit(3);
  }
  wait_for_stop(child, SIGSTOP);
  GUEST_CHECK(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
  int status, seen = 0;
  for (int inside = 0;; inside = !inside) {
    GUEST_CHECK(ptrace(PTRACE_SYSCALL, child, 0, 0) == 0 && waitpid(child, &status, 0) == child);
    if (!WIFSTOPPED(status)) break;
    GUEST_CHECK(WSTOPSIG(status) == (SIGTRAP | 0x80));
    const struct user_regs_struct regs = registers(child);
    seen += regs.orig_rax == SYS_getppid;
    if (seen == 0) continue;  // the end of raise
    if (regs.orig_rax == SYS_exit_group) printf("call %llu, ", regs.orig_rax);
    else if (inside && regs.orig_rax != SYS_getppid) printf("call %llu gives %lld, ", regs.orig_rax, (long long)regs.rax);
  }
  printf("status %d\n", WEXITSTATUS(status));
}

extern const char step_begin[], step_end[];
// Five instructions, one by one; a register that the tracer sets, and memory.
static void steps(void) {
  const pid_t child = fork();
  if (child == 0) {
    GUEST_CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    uint64_t rbx = 7;
    __asm__ volatile(
        "int3\n.globl step_begin, step_end\nstep_begin: nop; inc %0; lea 1(%0), %%rax; xchg %%rax, %0; nop\nstep_end: nop"
        : "+b"(rbx)::"rax", "cc");
    _exit((int)(rbx + flag));
  }
  wait_for_stop(child, SIGTRAP);
  struct user_regs_struct regs = registers(child);
  printf("steps: at %lld, rbx %llu;", (long long)(regs.rip - (uint64_t)step_begin), regs.rbx);
  regs.rbx = 100;
  GUEST_CHECK(ptrace(PTRACE_SETREGS, child, 0, &regs) == 0 && ptrace(PTRACE_POKEDATA, child, &flag, 20) == 0);
  while (regs.rip != (uint64_t)step_end) {
    GUEST_CHECK(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0);
    wait_for_stop(child, SIGTRAP);
    regs = registers(child);
    printf(" %lld", (long long)(regs.rip - (uint64_t)step_begin));
  }
  GUEST_CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0);
  printf("; ");
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  says("steps", status);
}

static void handler(int signal) { flag = (uint64_t)signal; }
__attribute__((noinline)) static uint64_t spin(void) {
  uint64_t rounds = 0;
  while (flag == 0) ++rounds;
  return rounds;
}
// It goes on, and takes a signal, when the tracer has gone.
static void attach(const char* name, int request, void (*work)(void), long call) {
  int ready[2];
  GUEST_CHECK(pipe(ready) == 0);
  flag = 0;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGUSR1, handler);
    GUEST_CHECK(write(ready[1], "", 1) == 1);
    work();
    _exit(flag == SIGUSR1 ? 4 : 5);
  }
  char byte;
  GUEST_CHECK(read(ready[0], &byte, 1) == 1);
  usleep(20000);
  GUEST_CHECK(ptrace(request, child, 0, 0) == 0);
  if (request == PTRACE_SEIZE) GUEST_CHECK(ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0);
  wait_for_stop(child, request == PTRACE_SEIZE ? SIGTRAP : SIGSTOP);
  const struct user_regs_struct regs = registers(child);
  const uint64_t at = regs.rip - (uint64_t)&spin;
  if (call < 0) printf("%s: in the loop %d, ", name, at < 64);
  else printf("%s: call %lld, ", name, (long long)regs.orig_rax);
  detached(child);
  close(ready[0]);
  close(ready[1]);
}
static void spins(void) { spin(); }
static void sleeps(void) { pause(); }
static void stops(void) {
  raise(SIGSTOP);
  spin();
}
// As strace does it: the child has stopped itself when the tracer comes.
static void attach_to_stopped(void) {
  flag = 0;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGUSR1, handler);
    stops();
    _exit(flag == SIGUSR1 ? 4 : 5);
  }
  int status;
  GUEST_CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
  GUEST_CHECK(ptrace(PTRACE_SEIZE, child, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0);
  wait_for_stop(child, SIGSTOP);
  GUEST_CHECK(kill(child, SIGCONT) == 0 && ptrace(PTRACE_CONT, child, 0, 0) == 0);
  for (int n = 0; n < 2; ++n) {  // the group goes on; the signal arrives
    GUEST_CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    GUEST_CHECK(ptrace(PTRACE_CONT, child, 0, status >> 16 == 0 ? WSTOPSIG(status) : 0) == 0);
  }
  usleep(20000);
  GUEST_CHECK(ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0);
  wait_for_stop(child, SIGTRAP);
  printf("stopped: in the loop %d, ", registers(child).rip - (uint64_t)&spin < 64);
  detached(child);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  alarm(60);
  calls();
  steps();
  attach("attached", PTRACE_ATTACH, spins, -1);
  attach("seized", PTRACE_SEIZE, spins, -1);
  attach("asleep", PTRACE_ATTACH, sleeps, SYS_pause);
  attach("asleep, seized", PTRACE_SEIZE, sleeps, SYS_pause);
  attach_to_stopped();
  return 0;
}
