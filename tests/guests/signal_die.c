// Ends by the signal it is given, the whole program this time: by kill, by raise, by a fault, by abort.
// build: dynamic -O1
// run: kill 15
// run: kill 9
// run: kill 10
// run: raise 6
// run: fault 11
// run: fault 8
// run: fault 4
// run: fault 5
// run: abort 0
// run: alarm 14
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest.h"

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  prctl(PR_SET_DUMPABLE, 0);
  const int number = atoi(argv[2]);
  puts("before");
  fflush(stdout);
  volatile int zero = 0;
  if (strcmp(argv[1], "kill") == 0) kill(getpid(), number);
  if (strcmp(argv[1], "raise") == 0) raise(number);
  if (strcmp(argv[1], "abort") == 0) abort();
  if (strcmp(argv[1], "alarm") == 0) {
    alarm(1);
    for (;;) pause();
  }
  if (number == SIGSEGV) *(volatile int*)(uintptr_t)zero = 1;
  if (number == SIGFPE) zero = 77 / zero;
  if (number == SIGILL) __asm__ volatile("ud2");
  if (number == SIGTRAP) __asm__ volatile("int3");
  puts("after");
  return 0;
}
