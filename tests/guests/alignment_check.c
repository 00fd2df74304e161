// The alignment-check flag: set and tested for as the Java VM does it at its start, kept through loops, calls and system
// calls, with signals meanwhile, and a misaligned access of the program's own that it makes fault.
// build: static -O2 -mno-red-zone
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "guest.h"

#define AC 0x40000u

static volatile int faults, alarms;
static volatile uint64_t fault_ip;
extern const char misaligned[];

static void on_bus(int signal, siginfo_t* info, void* context) {
  __writeeflags(__readeflags() & ~(unsigned long long)AC);
  ucontext_t* uc = context;
  GUEST_CHECK(signal == SIGBUS && info->si_code == BUS_ADRALN && info->si_addr == NULL);
  GUEST_CHECK((uc->uc_mcontext.gregs[REG_EFL] & AC) != 0 && uc->uc_mcontext.gregs[REG_TRAPNO] == 17);
  fault_ip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
  uc->uc_mcontext.gregs[REG_EFL] &= ~(long long)AC;
  ++faults;
}

static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
}

static __attribute__((noinline)) unsigned collatz(unsigned n) {
  unsigned steps = 0;
  for (; n != 1; ++steps) n = n % 2 ? 3 * n + 1 : n / 2;
  return steps;
}

int main(void) {
  const unsigned long long before = __readeflags();
  __writeeflags(before ^ AC);
  const unsigned long long toggled = __readeflags();
  __writeeflags(before);
  printf("can be set: %d, can be cleared: %d\n", ((before ^ toggled) & AC) != 0, __readeflags() == before);

  // Blocks of every length run with the flag set.
  unsigned steps = 0;
  __writeeflags(__readeflags() | AC);
  for (unsigned n = 1; n < 300; ++n) steps += collatz(n);
  const pid_t parent = getppid();
  const int kept = (__readeflags() & AC) != 0;
  __writeeflags(__readeflags() & ~(unsigned long long)AC);
  printf("steps %u, kept %d, parent %d\n", steps, kept, parent > 0);

  struct sigaction action = {0};
  action.sa_handler = on_alarm;
  GUEST_CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  GUEST_CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  __writeeflags(__readeflags() | AC);
  while (alarms < 5) steps += collatz(27);
  __writeeflags(__readeflags() & ~(unsigned long long)AC);
  GUEST_CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  printf("signals arrived\n");

  action.sa_sigaction = on_bus;
  action.sa_flags = SA_SIGINFO;
  GUEST_CHECK(sigaction(SIGBUS, &action, NULL) == 0);
  uint64_t words[2] = {0x1122334455667788u, 0x99aabbccddeeff00u}, loaded;
  __asm__ volatile(
      "pushf; orl %2, (%%rsp); popf\n"
      ".globl misaligned\n"
      "misaligned: movq 1(%1), %0\n"
      : "=&r"(loaded)
      : "r"(words), "i"(AC)
      : "cc", "memory");
  printf("faults %d at the instruction %d, loaded %llx, flag set %d\n", faults, fault_ip == (uint64_t)misaligned,
         (unsigned long long)loaded, (__readeflags() & AC) != 0);
}
