// A thousand threads that end at once, each with a GS base of its own, and all four kinds of arch_prctl in them.
// build: dynamic -O1 -pthread
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

enum { kThreads = 1000 };
static uint64_t words[kThreads];
static __thread uint64_t local = 7;

static void* in_thread(void* number) {
  const uint64_t i = (uint64_t)number;
  unsigned long fs = 0, gs = 0;
  words[i] = 3 * i;
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &fs) == 0 && *(unsigned long*)fs == fs);
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, &words[i]) == 0);
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &gs) == 0 && gs == (unsigned long)&words[i]);
  uint64_t seen;
  __asm__ volatile("mov %%gs:0, %0" : "=r"(seen));
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_FS, fs) == 0);
  local += seen;
  return (void*)local;
}

int main(void) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kThreads; ++i) {
    pthread_t thread;
    void* result;
    GUEST_CHECK(pthread_create(&thread, NULL, in_thread, (void*)i) == 0);
    GUEST_CHECK(pthread_join(thread, &result) == 0);
    sum += (uint64_t)result;
  }
  unsigned long gs = 1;
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &gs) == 0);
  printf("%llu, local %llu, gs %lx\n", (unsigned long long)sum, (unsigned long long)local, gs);
  return 0;
}
