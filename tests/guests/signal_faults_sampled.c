// Loads that fault at unforeseeable places of one block, thousands of times: sampled, some fault in the rest of a block in which a
// sample was taken just before.
// build: dynamic -O2
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#include "guest.h"

static sigjmp_buf back;

static void handler(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGSEGV, &action, NULL);
  static volatile unsigned sum;
  static volatile int faults;
  unsigned x = 1;
  for (volatile int i = 0; i < 20000; ++i) {
    if (sigsetjmp(back, 1)) {
      ++faults;
      x = (unsigned)i * 2654435761u;
      continue;
    }
    x = x * 1664525u + 1013904223u;
    const unsigned high = x >> 28;
    volatile int* const p = (high & 1) != 0 ? (volatile int*)(uintptr_t)(x & 7) : (volatile int*)&sum;
    x += high;
    x ^= x >> 3;
    x += 7;
    x ^= x << 2;
    (void)*p;
    sum += high;
  }
  printf("%u %d\n", sum, faults);
  GUEST_CHECK(faults > 1000);
}
