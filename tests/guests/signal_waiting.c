// Signals taken without a handler: signalfd, sigtimedwait, sigwaitinfo, sigsuspend, ppoll and pselect with a mask, queued
// real-time signals in order with their values.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "guest.h"

static volatile sig_atomic_t handled;
static void count(int signal) { handled = handled * 100 + signal; }

int main(void) {
  sigset_t set, old, none;
  sigemptyset(&none);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGRTMIN + 1);
  sigaddset(&set, SIGRTMIN + 2);
  sigprocmask(SIG_BLOCK, &set, &old);
  signal(SIGUSR1, count);

  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  struct signalfd_siginfo information;
  GUEST_CHECK(read(fd, &information, sizeof information) == -1 && errno == EAGAIN);
  kill(getpid(), SIGUSR1);
  GUEST_CHECK(read(fd, &information, sizeof information) == sizeof information);
  printf("signalfd: signal %u code %d from self %d\n", information.ssi_signo, information.ssi_code, information.ssi_pid == (unsigned)getpid());

  for (int i = 0; i < 3; ++i) sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 10 + i});
  sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 7});
  siginfo_t got;
  const struct timespec soon = {0, 20000000};
  for (int i = 0; i < 4; ++i) {
    const int n = sigtimedwait(&set, &got, &soon);
    printf("sigtimedwait: RTMIN+%d value %d code %d\n", n - SIGRTMIN, got.si_value.sival_int, got.si_code);
  }
  printf("sigtimedwait: %s\n", sigtimedwait(&set, &got, &soon) == -1 && errno == EAGAIN ? "EAGAIN" : "?");

  kill(getpid(), SIGUSR1);
  printf("before sigsuspend %d\n", handled);
  GUEST_CHECK(sigsuspend(&none) == -1 && errno == EINTR);
  printf("after sigsuspend %d\n", handled);
  kill(getpid(), SIGUSR1);
  struct pollfd nothing = {.fd = -1};
  GUEST_CHECK(ppoll(&nothing, 1, NULL, &none) == -1 && errno == EINTR);
  printf("after ppoll %d\n", handled);
  handled = 0;
  kill(getpid(), SIGUSR1);
  GUEST_CHECK(pselect(0, NULL, NULL, NULL, NULL, &none) == -1 && errno == EINTR);
  printf("after pselect %d\n", handled);
  handled = 0;
  const int poller = epoll_create1(0);
  struct epoll_event event;
  kill(getpid(), SIGUSR1);
  GUEST_CHECK(epoll_pwait(poller, &event, 1, -1, &none) == -1 && errno == EINTR);
  printf("after epoll_pwait %d\n", handled);
  sigset_t now;
  sigprocmask(SIG_SETMASK, NULL, &now);
  printf("mask restored: %d\n", sigismember(&now, SIGUSR1) == 1);
  kill(getpid(), SIGUSR1);
  GUEST_CHECK(sigwaitinfo(&set, &got) == SIGUSR1);
  int signal_number = 0;
  kill(getpid(), SIGUSR1);
  GUEST_CHECK(sigwait(&set, &signal_number) == 0);
  printf("sigwait %d handled %d\n", signal_number, handled);
  return 0;
}
