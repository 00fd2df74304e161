// A program that blocks every signal, computes long, receives some meanwhile, and takes them when it unblocks.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "guest.h"

static int order[8], taken;
static void handler(int signal) { order[taken++ & 7] = signal; }

int main(void) {
  const int signals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM};
  struct sigaction action = {.sa_handler = handler};
  sigfillset(&action.sa_mask);
  for (int i = 0; i < 4; ++i) sigaction(signals[i], &action, NULL);
  sigset_t all, old, now;
  sigfillset(&all);
  GUEST_CHECK(sigprocmask(SIG_SETMASK, &all, &old) == 0);
  sigprocmask(SIG_BLOCK, NULL, &now);
  printf("blocked: SEGV %d USR1 %d KILL %d STOP %d\n", sigismember(&now, SIGSEGV), sigismember(&now, SIGUSR1),
         sigismember(&now, SIGKILL), sigismember(&now, SIGSTOP));
  for (int i = 0; i < 4; ++i) kill(getpid(), signals[i]);
  kill(getpid(), SIGUSR1);  // once more: ordinary signals do not queue
  uint64_t x = 1;
  for (int i = 0; i < 2000000; ++i) x = x * 6364136223846793005u + (x >> 60);
  printf("computed %016llx, taken %d\n", (unsigned long long)x, taken);
  sigpending(&now);
  printf("pending: USR1 %d USR2 %d INT %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2), sigismember(&now, SIGINT));
  sigprocmask(SIG_SETMASK, &old, NULL);
  printf("taken %d:", taken);
  for (int i = 0; i < taken; ++i) printf(" %d", order[i]);
  printf("\n");
  return 0;
}
