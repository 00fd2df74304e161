// Handlers interrupted by other signals, masks of sa_mask, SA_NODEFER and SA_RESETHAND, in a determined order.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>

#include "guest.h"

static volatile int depth;
static void say(const char* what, int signal) { printf("%*s%s %d\n", 2 * depth, "", what, signal); }

static void outer(int signal) {
  say("enter", signal);
  ++depth;
  if (signal == SIGUSR1) raise(SIGUSR2);
  if (signal == SIGUSR2 && depth < 4) raise(SIGTERM);
  if (signal == SIGTERM && depth < 6) raise(SIGTERM);  // nested by SA_NODEFER
  --depth;
  say("leave", signal);
}
static void set(int signal, int flags, int also_blocked) {
  struct sigaction action = {.sa_handler = outer, .sa_flags = flags};
  if (also_blocked) sigaddset(&action.sa_mask, also_blocked);
  sigaction(signal, &action, NULL);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  set(SIGUSR1, 0, 0);
  set(SIGUSR2, 0, 0);
  set(SIGTERM, SA_NODEFER, 0);
  raise(SIGUSR1);
  puts("-- SIGUSR2 blocked while SIGUSR1 is handled");
  set(SIGUSR1, 0, SIGUSR2);
  raise(SIGUSR1);
  puts("-- SA_RESETHAND");
  set(SIGUSR2, SA_RESETHAND, 0);
  raise(SIGUSR2);
  struct sigaction now;
  sigaction(SIGUSR2, NULL, &now);
  printf("default again: %d\n", now.sa_handler == SIG_DFL);
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("mask empty: %d\n", sigisemptyset(&mask));
  return 0;
}
