// A child sends signals as fast as it can while the parent computes, makes system calls and blocks them in turns.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile sig_atomic_t usr1, usr2, realtime;
static void handler(int signal) {
  if (signal == SIGUSR1) ++usr1;
  else if (signal == SIGUSR2) ++usr2;
  else ++realtime;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  sigaction(SIGRTMIN, &action, NULL);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 2000; ++i) {
      kill(parent, SIGUSR1);
      kill(parent, SIGUSR2);
      while (sigqueue(parent, SIGRTMIN, (union sigval){.sival_int = i}) != 0) usleep(100);
    }
    _exit(0);
  }
  uint64_t expected = 0, x = 1;
  for (int i = 0; i < 10000; ++i) x = x * 6364136223846793005u + 1;
  expected = x;
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGRTMIN);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0 || realtime < 2000) {
    x = 1;
    for (int i = 0; i < 10000; ++i) x = x * 6364136223846793005u + 1;
    GUEST_CHECK(x == expected);
    char text[64];
    snprintf(text, sizeof text, "%d %f", 12345, 1.25);
    GUEST_CHECK(strcmp(text, "12345 1.250000") == 0);
    sigprocmask(SIG_BLOCK, &set, &old);
    getppid();
    sigprocmask(SIG_SETMASK, &old, NULL);
  }
  printf("real-time signals %d, others arrived %d\n", realtime, usr1 > 0 && usr2 > 0);
  return 0;
}
