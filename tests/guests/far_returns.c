// IRETQ and RETFQ to the segments that the program is in, as programs use them that set RIP, RSP and RFLAGS at once:
// Wine leaves each system call this way. Flags that come and go, a stack elsewhere, the trap flag, and what faults: an
// address that is not canonical, a frame that is not mapped, NT.
// build: dynamic -O1
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "guest.h"

enum { kCarry = 1, kTrap = 1 << 8, kDirection = 1 << 10, kOverflow = 1 << 11, kNested = 1 << 14, kAlignment = 1 << 18 };
static const uint64_t kCode = 0x33, kData = 0x2b;
static sigjmp_buf back;
static volatile int traps;
static uint64_t elsewhere[64];

static void on_fault(int signal, siginfo_t* info, void* context) {
  const ucontext_t* const at = context;
  const greg_t* const regs = at->uc_mcontext.gregs;
  printf("signal %d code %d trap %d error %x", signal, info->si_code, (int)regs[REG_TRAPNO], (int)regs[REG_ERR]);
  // Which word of a frame is read first is the processor's affair.
  printf(" at %lx\n", (unsigned long)info->si_addr & ~UINT64_C(0x1F));
  siglongjmp(back, 1);
}

static void on_trap(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  ucontext_t* const at = context;
  if (++traps == 3) at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)kTrap;
}

// Goes to the next instruction through a frame with these flags; returns the flags there.
static uint64_t with_flags(uint64_t wanted) {
  uint64_t flags;
  __asm__ volatile(
      "mov %%rsp, %%r8\n sub $256, %%rsp\n lea 1f(%%rip), %%rax\n"
      "push %[data]\n push %%r8\n push %[wanted]\n push %[code]\n push %%rax\n iretq\n"
      "1: lea -128(%%rsp), %%rsp\n pushfq\n pop %[flags]\n push $2\n popfq\n lea 128(%%rsp), %%rsp\n"
      : [flags] "=r"(flags)
      : [wanted] "r"(wanted), [code] "r"(kCode), [data] "r"(kData)
      : "rax", "r8", "cc", "memory");
  return flags & 0x250FD5;
}

// The stack pointer is the frame's, wherever that lies.
static uint64_t on_another_stack(uint64_t rounds) {
  uint64_t* const frame = &elsewhere[8];
  uint64_t sum = 0;
  for (uint64_t i = 0; i < rounds; ++i) {
    uint64_t seen;
    frame[1] = kCode;
    frame[2] = 2 | (i & 1);
    frame[3] = (uint64_t)&elsewhere[32 + i % 8];
    frame[4] = kData;
    __asm__ volatile(
        "mov %%rsp, %%r9\n lea 1f(%%rip), %%rax\n mov %%rax, (%[frame])\n mov %[frame], %%rsp\n iretq\n"
        "1: mov %%rsp, %[seen]\n mov %%r9, %%rsp\n adc $0, %[seen]\n"
        : [seen] "=&r"(seen)
        : [frame] "r"(frame)
        : "rax", "r9", "cc", "memory");
    sum = sum * 31 + (seen - (uint64_t)elsewhere);
  }
  return sum;
}

static uint64_t far_return(void) {
  uint64_t before, after;
  __asm__ volatile(
      "sub $256, %%rsp\n mov %%rsp, %[before]\n lea 1f(%%rip), %%rax\n push %[code]\n push %%rax\n lretq\n"
      "1: push $9\n push $8\n lea 2f(%%rip), %%rax\n push %[code]\n push %%rax\n lretq $16\n"
      "2: mov %%rsp, %[after]\n add $256, %%rsp\n"
      : [before] "=&r"(before), [after] "=&r"(after)
      : [code] "r"(kCode)
      : "rax", "cc", "memory");
  return after - before;
}

static void go(uint64_t frame, uint64_t target, uint64_t flags_before) {
  if (sigsetjmp(back, 1) != 0) return;
  __asm__ volatile(
      "mov %%rsp, %%r8\n sub $256, %%rsp\n push %[data]\n push %%r8\n push $2\n push %[code]\n push %[target]\n"
      "push %[before]\n popfq\n test %[frame], %[frame]\n cmovnz %[frame], %%rsp\n iretq\n"
      :
      : [frame] "r"(frame), [target] "r"(target), [code] "r"(kCode), [data] "r"(kData), [before] "r"(flags_before)
      : "r8", "cc", "memory");
}

int main(int argc, char** argv) {
  (void)argv;
  printf("flags %lx %lx %lx %lx\n", with_flags(2), with_flags(2 | kCarry), with_flags(2 | kDirection | kOverflow),
         with_flags(2 | kAlignment));
  printf("stacks %lx\n", on_another_stack(5000));
  printf("far return %lu\n", far_return());
  if (argc > 1) return 0;  // no signals

  stack_t alternate = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  GUEST_CHECK(sigaltstack(&alternate, NULL) == 0);
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  GUEST_CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
  const uint64_t trapped = with_flags(2 | kTrap);
  printf("trapped %d\n", traps);
  (void)trapped;

  action.sa_sigaction = on_fault;
  GUEST_CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
  char* const nothing = mmap((void*)0x700000000, 8192, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  GUEST_CHECK(nothing != MAP_FAILED && mprotect(nothing + 4096, 4096, PROT_NONE) == 0);
  go(0, 0x8000000000000000, 2);
  go(0, 0x700000040, 2);
  go((uint64_t)nothing + 4096, 0, 2);
  go((uint64_t)nothing + 4096 - 8 * 2, 0, 2);  // its third word
  GUEST_CHECK(munmap(nothing, 8192) == 0);
  go(0x700000000, 0, 2);
  go(0x8000000000000000, 0, 2);
  go(0, 0x700000040, 2 | kNested);
  return 0;
}
