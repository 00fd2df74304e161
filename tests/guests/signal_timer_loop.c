// Asynchronous signals into a computing loop: every tick's handler runs, and the loop's result is what it would be
// without them.
// build: dynamic -O1
#include <signal.h>
#include <sys/time.h>

#include "guest.h"

static volatile sig_atomic_t ticks;
static void on_tick(int signal) {
  (void)signal;
  ++ticks;
}

int main(void) {
  signal(SIGALRM, on_tick);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  volatile double d = 1;
  while (ticks < 50) {
    for (int i = 0; i < 1000; ++i) {
      d = d * 0.999 + 1;
    }
    uint64_t a = 1, b = 0;  // the same every time round, whatever interrupted it
    for (int i = 0; i < 500; ++i) {
      a = a * 2862933555777941757u + 3037000493u;
      b ^= a >> (i & 31);
    }
    static uint64_t first;
    if (first == 0) first = b;
    GUEST_CHECK(b == first);
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("ticks %s\n", ticks >= 50 ? "arrived" : "missing");
  return 0;
}
