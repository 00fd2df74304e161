// SIGCHLD: handler with waitpid, stopped and continued children, waitid's fields, SIG_IGN reaping on its own.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile sig_atomic_t reaped, statuses;
static void reap(int signal) {
  (void)signal;
  const int saved = errno;
  int status;
  while (waitpid(-1, &status, WNOHANG) > 0) {
    statuses += WEXITSTATUS(status);
    ++reaped;
  }
  errno = saved;
}

int main(void) {
  struct sigaction action = {.sa_handler = reap, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
  sigaction(SIGCHLD, &action, NULL);
  for (int i = 1; i <= 20; ++i) {
    if (fork() == 0) _exit(i);
  }
  sigset_t none, block;
  sigemptyset(&none);
  sigemptyset(&block);
  sigaddset(&block, SIGCHLD);
  sigprocmask(SIG_BLOCK, &block, NULL);
  while (reaped < 20) sigsuspend(&none);
  sigprocmask(SIG_UNBLOCK, &block, NULL);
  printf("reaped %d, statuses %d\n", reaped, statuses);

  signal(SIGCHLD, SIG_DFL);
  int go_on[2];  // a child that has ended has not been continued any more
  GUEST_CHECK(pipe(go_on) == 0);
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    char byte;
    GUEST_CHECK(read(go_on[0], &byte, 1) == 1);
    _exit(5);
  }
  siginfo_t info = {0};
  waitid(P_PID, (id_t)child, &info, WSTOPPED);
  printf("stopped: code %d status %d\n", info.si_code, info.si_status);
  kill(child, SIGCONT);
  waitid(P_PID, (id_t)child, &info, WCONTINUED);
  printf("continued: code %d status %d\n", info.si_code, info.si_status);
  GUEST_CHECK(write(go_on[1], "", 1) == 1);
  waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
  printf("exited: code %d status %d\n", info.si_code, info.si_status);
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  printf("again: %d\n", WEXITSTATUS(status));

  signal(SIGCHLD, SIG_IGN);
  if (fork() == 0) _exit(1);
  printf("ignored: %s\n", wait(&status) == -1 && errno == ECHILD ? "ECHILD" : "?");
  return 0;
}
