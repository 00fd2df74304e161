// RDFSBASE, RDGSBASE, WRFSBASE and WRGSBASE, in both widths, between arch_prctl of all four kinds. Where the processor
// does not execute them, each is SIGILL. Where it does although the kernel does not know them, what they write lasts
// until another process runs: so what is written is read at once.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

static __thread uint64_t local = 0x1234;
static uint64_t block[16] = {11, 22, 33, 44, 55, 66};
static sigjmp_buf back;

static void on_fault(int signal, siginfo_t* info, void* context) {
  const ucontext_t* const at = context;
  const greg_t* const regs = at->uc_mcontext.gregs;
  printf("signal %d code %d trap %d at its instruction %d\n", signal, info->si_code, (int)regs[REG_TRAPNO],
         signal != SIGILL || info->si_addr == (void*)regs[REG_RIP]);
  siglongjmp(back, 1);
}

static unsigned long of_kernel(int code) {
  unsigned long base = 1;
  GUEST_CHECK(syscall(SYS_arch_prctl, code, &base) == 0);
  return base;
}
static unsigned long rdfsbase(void) {
  unsigned long base;
  __asm__ volatile("rdfsbase %0" : "=r"(base));
  return base;
}
static unsigned long rdgsbase(void) {
  unsigned long base;
  __asm__ volatile("rdgsbase %0" : "=r"(base));
  return base;
}

static void writes_and_reads(void) {
  unsigned long base, fs = of_kernel(ARCH_GET_FS);
  uint64_t word, fake[4] = {5, 6, 7, 8};
  __asm__ volatile("wrgsbase %2; rdgsbase %0; mov %%gs:8, %1" : "=&r"(base), "=&r"(word) : "r"(&block[3]));
  printf("wrgsbase %d gs:8 = %llu\n", base == (unsigned long)&block[3], (unsigned long long)word);
  __asm__ volatile("wrfsbase %2; rdfsbase %0; mov %%fs:16, %1; wrfsbase %3"
                   : "=&r"(base), "=&r"(word)
                   : "r"(fake), "r"(fs)
                   : "memory");
  const int wrote = base == (unsigned long)fake;
  printf("wrfsbase %d fs:16 = %llu local %llx\n", wrote, (unsigned long long)word, (unsigned long long)local);
  // 32 bits: the upper half is nothing
  __asm__ volatile("wrgsbase %1; rdgsbase %k0" : "=r"(base) : "r"(0x123456789AUL));
  printf("rdgsbase, 32 bits: %lx\n", base);
  __asm__ volatile("wrgsbase %k1; rdgsbase %0" : "=r"(base) : "r"(0x123456789AUL));
  printf("wrgsbase, 32 bits: %lx\n", base);
}

// What the instructions read is what arch_prctl has set, and the other way round.
static void mixed(void) {
  for (int i = 0; i < 4; ++i) {
    GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, &block[i]) == 0);
    const unsigned long gs = rdgsbase();
    int seen = 0;
    for (int tries = 0; tries < 100 && !seen; ++tries) {
      __asm__ volatile("wrgsbase %0" ::"r"(&block[i + 1]));
      seen = of_kernel(ARCH_GET_GS) == (unsigned long)&block[i + 1];
    }
    printf("%d: set and read %d, written and asked for %d\n", i, gs == (unsigned long)&block[i], seen);
  }
  const unsigned long fs = of_kernel(ARCH_GET_FS);
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_FS, fs) == 0);
  printf("fs %d, local %llx\n", rdfsbase() == fs, (unsigned long long)local);
}

static void* in_thread(void* unused) {
  (void)unused;
  local = 0x5678;
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, &block[5]) == 0);
  printf("thread: fs %d gs %d\n", rdfsbase() == of_kernel(ARCH_GET_FS), rdgsbase() == (unsigned long)&block[5]);
  writes_and_reads();
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  sigaction(SIGSEGV, &action, NULL);
  if (sigsetjmp(back, 1) == 0) {
    printf("rdfsbase %d\n", rdfsbase() == of_kernel(ARCH_GET_FS));
  } else {
    printf("rdfsbase is no instruction here\n");
    if (sigsetjmp(back, 1) == 0) rdgsbase();
    if (sigsetjmp(back, 1) == 0) __asm__ volatile("wrfsbase %0" ::"r"(0L));
    if (sigsetjmp(back, 1) == 0) __asm__ volatile("wrgsbase %0" ::"r"(0L));
    return 0;
  }
  writes_and_reads();
  mixed();
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("wrgsbase %0" ::"r"(0x8000000000000000UL));
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  mixed();
  return 0;
}
