// A program that steps itself: POPF sets the trap flag, each instruction then ends in SIGTRAP, until POPF or a handler clears it.
// build: dynamic
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

extern const char stepped_begin[], stepped_end[];
static struct {
  long at;
  int code, flag;
} steps[64];
static volatile int count, stop_after = 64;

static void trapped(int signal, siginfo_t* info, void* context) {
  (void)signal;
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (count < 64) {
    steps[count].at = registers[REG_RIP] - (long)stepped_begin;
    steps[count].code = info->si_code;
    steps[count].flag = (registers[REG_EFL] & 0x100) != 0;
  }
  if (++count >= stop_after) registers[REG_EFL] &= ~0x100LL;
}

__attribute__((noinline)) static long run_stepped(void) {
  long pushed = 0;
  __asm__ volatile(
      "pushfq\n orq $0x100, (%%rsp)\n popfq\n"
      "stepped_begin:\n"
      "movl $3, %%ecx\n"
      "1: decl %%ecx\n jnz 1b\n"
      "movl $39, %%eax\n syscall\n"  // getpid
      "leaq 3f(%%rip), %%rax\n jmp *%%rax\n nop\n"
      "3: call 4f\n jmp 5f\n"
      "4: ret\n"
      "5: pushfq\n popq %0\n"
      "int3\n nop\n"  // its handler returns with the flag as it was
      "pushfq\n andq $~0x100, (%%rsp)\n popfq\n"
      "nop\n nop\n"
      "stepped_end:\n"
      : "=r"(pushed)
      :
      : "rax", "rcx", "r11", "memory", "cc");
  return pushed;
}

static void show(const char* what, long pushed) {
  printf("%s: %d traps, pushed flag %d\n", what, count, (pushed & 0x100) != 0);
  for (int i = 0; i < count && i < 64; ++i) printf("  %ld code %d flag %d\n", steps[i].at, steps[i].code, steps[i].flag);
  count = 0;
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  show("cleared by POPF", run_stepped());
  stop_after = 5;
  show("cleared by the handler", run_stepped());
  __asm__ volatile("pushfq\n popfq" ::: "memory", "cc");
  show("not set", 0);
  return 0;
}
