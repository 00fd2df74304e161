// The three addresses at which old programs call the kernel without a SYSCALL.
// build: static
#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static sigjmp_buf back;
static void caught(int signal) { siglongjmp(back, signal); }

int main(void) {
  signal(SIGSEGV, caught);
  int (*const get_time)(struct timeval*, void*) = (int (*)(struct timeval*, void*))0xFFFFFFFFFF600000;
  time_t (*const seconds)(time_t*) = (time_t(*)(time_t*))0xFFFFFFFFFF600400;
  long (*const processor)(unsigned*, unsigned*, void*) = (long (*)(unsigned*, unsigned*, void*))0xFFFFFFFFFF600800;
  int signal_number = sigsetjmp(back, 1);
  if (signal_number != 0) {
    printf("signal %d\n", signal_number);
    return 0;
  }
  struct timeval now = {0, 0};
  time_t also = 0;
  unsigned cpu = 12345;
  printf("gettimeofday %d %d\n", get_time(&now, NULL), now.tv_sec > 1000000);
  const time_t told = seconds(&also);
  printf("time %d %d\n", told > 1000000, told == also);
  printf("getcpu %ld %d\n", processor(&cpu, NULL, NULL), cpu < 12345);
  void (*const nothing)(void) = (void (*)(void))0xFFFFFFFFFF600C00;
  signal_number = sigsetjmp(back, 1);
  if (signal_number == 0) nothing();
  printf("elsewhere on that page: signal %d\n", signal_number);
  return 0;
}
