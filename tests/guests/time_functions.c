// Clocks, sleeping and timers: they move forwards, agree with each other, wake when asked; timerfd, POSIX timers.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static int64_t now(clockid_t clock) {
  struct timespec t;
  GUEST_CHECK(clock_gettime(clock, &t) == 0);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void) {
  const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME,
                              CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE};
  for (int i = 0; i < 7; ++i) {
    int backwards = 0;
    int64_t last = now(clocks[i]);
    for (int k = 0; k < 500; ++k) {
      const int64_t t = now(clocks[i]);
      backwards += t < last;
      last = t;
    }
    printf("clock %d backwards %d\n", (int)clocks[i], backwards);
  }
  struct timeval day;
  gettimeofday(&day, NULL);
  const time_t seconds = time(NULL);
  printf("agree %d\n", llabs((long long)seconds - day.tv_sec) <= 2 && llabs((long long)seconds - now(CLOCK_REALTIME) / 1000000000) <= 2);
  const int64_t before = now(CLOCK_MONOTONIC);
  const struct timespec pause = {0, 30000000};
  GUEST_CHECK(nanosleep(&pause, NULL) == 0);
  GUEST_CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) == 0);
  usleep(10000);
  struct pollfd nothing = {.fd = -1};
  poll(&nothing, 1, 10);
  const int64_t slept = now(CLOCK_MONOTONIC) - before;
  printf("slept at least 80 ms: %d, less than 20 s: %d\n", slept >= 80000000, slept < 20000000000);
  const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec every = {{0, 5000000}, {0, 5000000}};
  timerfd_settime(fd, 0, &every, NULL);
  uint64_t expirations = 0, total = 0;
  while (total < 5) {
    GUEST_CHECK(read(fd, &expirations, 8) == 8);
    total += expirations;
  }
  printf("timerfd %d\n", total >= 5);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  GUEST_CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec once = {{0, 0}, {0, 5000000}};
  timer_settime(timer, 0, &once, NULL);
  siginfo_t info;
  GUEST_CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
  printf("timer code %d\n", info.si_code == SI_TIMER);
  struct tms process;
  GUEST_CHECK(times(&process) != (clock_t)-1);
  struct tm broken;
  const time_t fixed = 86400 * 365;
  char text[64];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", gmtime_r(&fixed, &broken));
  puts(text);
  return 0;
}
