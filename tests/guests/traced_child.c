// Children that ask to be traced: the tracer sees the stops that they make themselves, no other, and in a child that a signal kills
// the program's own registers.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"

static volatile uint64_t rounds = 50000;
static uint64_t (*volatile step)(uint64_t*) = guest_random;

// Enough for several samples, with indirect calls and returns.
static uint64_t work(void) {
  uint64_t state = 1, sum = 0;
  for (uint64_t i = 0; i < rounds; ++i) sum += step(&state);
  return sum;
}

// Lets `child` go on until it ends, and tells its stops.
static void follow(const char* name, pid_t child) {
  for (;;) {
    int status;
    GUEST_CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) {
      printf("%s: exit status %d\n", name, WEXITSTATUS(status));
      return;
    }
    if (WIFSIGNALED(status)) {
      printf("%s: killed by %s\n", name, strsignal(WTERMSIG(status)));
      return;
    }
    const int signal = WSTOPSIG(status);
    printf("%s: stopped by %s\n", name, strsignal(signal));
    const int passed_on = signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
    GUEST_CHECK(ptrace(PTRACE_CONT, child, 0, passed_on) == 0);
  }
}

static void forked(void) {
  const pid_t child = fork();
  if (child == 0) {
    GUEST_CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    const uint64_t before = work();
    raise(SIGSTOP);
    _exit(work() == before ? 7 : 1);
  }
  follow("forked", child);
}

// The tracer is asleep until the execve: a stop before that would last for ever.
static void vforked(void) {
  char* echo[] = {"echo", "from a traced child", NULL};
  const pid_t child = vfork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    work();
    execv("/bin/echo", echo);
    _exit(127);
  }
  follow("vforked", child);
}

static void handler(int signal, siginfo_t* info, void* context) {
  ucontext_t* uc = context;
  printf("handling: %s, code %d\n", strsignal(signal), info->si_code);
  uc->uc_mcontext.gregs[REG_RIP] += 2;  // behind the load
}

// The tracer hears of a fault before the program's handler does.
static void handling(void) {
  const pid_t child = fork();
  if (child == 0) {
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    GUEST_CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    double kept = 1.5;
    for (int i = 0; i < 3; ++i) {
      uint64_t at = 8, saw = 11;
      asm volatile("mov (%%rax), %%ecx" : "+a"(at), "+c"(saw), "+x"(kept)::"memory");
      GUEST_CHECK(at == 8 && saw == 11 && kept == 1.5 && getpid() > 0);
    }
    _exit(work() != 0 ? 8 : 1);
  }
  follow("handling", child);
}

// Jumps to where nothing may be executed, as gdb's test of such pages does.
static void jumping(void) {
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(page != MAP_FAILED);
  page[16] = (char)0xC3;
  const pid_t child = fork();
  if (child == 0) {
    GUEST_CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    register uint64_t mark asm("r11") = 0x1234567890abcdefu;
    asm volatile("mov %0, %%r15\n\tmovq %0, %%xmm9\n\tpushq %1\n\tret" ::"r"(mark), "r"(page + 16) : "r15", "xmm9", "memory");
    __builtin_unreachable();
  }
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  GUEST_CHECK(WIFSTOPPED(status));
  struct user_regs_struct regs;
  struct user_fpregs_struct fp;
  siginfo_t info;
  GUEST_CHECK(ptrace(PTRACE_GETREGS, child, 0, &regs) == 0 && ptrace(PTRACE_GETFPREGS, child, 0, &fp) == 0);
  GUEST_CHECK(ptrace(PTRACE_GETSIGINFO, child, 0, &info) == 0);
  uint64_t xmm9;
  memcpy(&xmm9, fp.xmm_space + 9 * 4, sizeof xmm9);
  printf("jumping: %s, code %d, address and rip %s, r11 %llx, r15 %llx, xmm9 %llx\n", strsignal(WSTOPSIG(status)), info.si_code,
         info.si_addr == page + 16 && regs.rip == (uint64_t)page + 16 ? "right" : "wrong", regs.r11, regs.r15,
         (unsigned long long)xmm9);
  GUEST_CHECK(ptrace(PTRACE_CONT, child, 0, SIGSEGV) == 0);
  follow("jumping", child);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  forked();
  vforked();
  handling();
  jumping();
  return 0;
}
