// siglongjmp out of handlers, with and without the saved mask, thousands of times, from timer and from faults.
// build: dynamic -O1
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "guest.h"

static sigjmp_buf back;
static volatile int* const nowhere = (volatile int*)8;

static void jump(int signal) { siglongjmp(back, signal); }

int main(void) {
  signal(SIGSEGV, jump);
  signal(SIGALRM, jump);
  volatile int faults = 0;
  for (volatile int i = 0; i < 3000; ++i) {
    const int how = sigsetjmp(back, 1);
    if (how == 0) *nowhere = i;
    faults += how == SIGSEGV;
  }
  printf("faults %d\n", faults);
  volatile int ticks = 0;
  const struct itimerval once = {{0, 0}, {0, 500}};
  if (sigsetjmp(back, 1) == SIGALRM) ++ticks;
  if (ticks < 30) {
    setitimer(ITIMER_REAL, &once, NULL);
    for (volatile uint64_t x = 1;;) x = x * 3 + 1;
  }
  printf("ticks %d\n", ticks);
  sigset_t mask;
  if (sigsetjmp(back, 0) == 0) *nowhere = 1;  // without the mask SIGSEGV stays blocked
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("SIGSEGV left blocked: %d\n", sigismember(&mask, SIGSEGV));
  return 0;
}
