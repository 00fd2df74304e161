// The first process of a pid namespace: signals that would end another process do nothing to it, unless it handles them, and
// its own faults end it.
// build: dynamic -O1
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile sig_atomic_t handled;
static void on_signal(int signal) { handled = signal; }
static void ends(const char* name, pid_t child) {
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  printf("%s: %s %d\n", name, WIFEXITED(status) ? "status" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

// The first process made in a namespace is its init.
static void in_namespace(const char* name, int (*body)(void)) {
  fflush(stdout);
  const pid_t outer = fork();
  GUEST_CHECK(outer >= 0);
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(77);
    const pid_t init = fork();
    GUEST_CHECK(init >= 0);
    if (init == 0) _exit(body());
    ends(name, init);
    fflush(stdout);
    _exit(0);
  }
  ends("outside", outer);
}
static int survives(void) {
  const int deadly[] = {SIGQUIT, SIGTERM, SIGUSR1, SIGSEGV, SIGRTMIN};
  sigset_t all;
  sigfillset(&all);
  for (unsigned i = 0; i < 5; ++i) {
    GUEST_CHECK(kill(getpid(), deadly[i]) == 0 && raise(deadly[i]) == 0);
    GUEST_CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0 && raise(deadly[i]) == 0);
    GUEST_CHECK(sigprocmask(SIG_UNBLOCK, &all, NULL) == 0);
  }
  signal(SIGTERM, on_signal);
  GUEST_CHECK(raise(SIGTERM) == 0 && handled == SIGTERM);
  return 55;
}
static int faults(void) {
  *(volatile int*)8 = 1;
  return 56;
}

int main(void) {
  in_namespace("signals", survives);
  in_namespace("fault", faults);
  return 0;
}
