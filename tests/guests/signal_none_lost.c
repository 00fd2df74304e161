// Queued signals come in while the program forks, vforks, tries to exec, starts and ends threads and changes its mask.
// Each must arrive, once, in order, and never while it is blocked.
// build: dynamic -O1 -pthread
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"

static int signals = 2000;

static atomic_int arrived, out_of_order, while_blocked, last;

static void on_signal(int signal, siginfo_t* info, void* context) {
  const ucontext_t* interrupted = context;
  if (sigismember(&interrupted->uc_sigmask, signal)) ++while_blocked;
  if (info->si_value.sival_int != last + 1) ++out_of_order;
  last = info->si_value.sival_int;
  ++arrived;
}

static void block(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, NULL);
}

static void unblock(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void forks(void) {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  GUEST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void vforks(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(7);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  GUEST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void fails_to_exec(void) {
  char* const no_arguments[] = {NULL};
  GUEST_CHECK(execve("/no/such/program", no_arguments, no_arguments) == -1 && errno == ENOENT);
}

static void changes_its_mask(void) {
  block();
  for (volatile int i = 0; i < 300; ++i) {
  }
  unblock();
}

static void computes(void) {
  for (volatile int i = 0; i < 3000; ++i) {
  }
}

static void* does_nothing(void* unused) { return unused; }

static void starts_and_ends_threads(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) GUEST_CHECK(pthread_create(&threads[i], NULL, does_nothing, NULL) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}

// Sends all signals to `receiver`, a moment after each other.
static void send_all(pid_t receiver) {
  for (int i = 1; i <= signals; ++i) {
    const union sigval value = {.sival_int = i};
    while (sigqueue(receiver, SIGRTMIN, value) != 0) {
      if (errno != EAGAIN) _exit(1);
      usleep(1000);
    }
    for (volatile int spin = 0; spin < i % 37 * 1000; ++spin) {
    }
  }
  _exit(0);
}

static void during(const char* what, void (*act)(void), int in_order) {
  arrived = out_of_order = while_blocked = last = 0;
  const pid_t receiver = getpid();
  block();
  const pid_t sender = fork();
  if (sender == 0) send_all(receiver);
  unblock();
  int status = 0;
  while (1) {
    const pid_t ended = waitpid(sender, &status, WNOHANG);
    if (ended == sender) break;
    GUEST_CHECK(ended == 0 || errno == EINTR);
    act();
  }
  GUEST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // What is sent is delivered before the next system call returns.
  getppid();
  if (!in_order) out_of_order = 0;
  printf("%s: %d of %d arrived, %d out of order, %d while blocked\n", what, arrived, signals, out_of_order,
         while_blocked);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc > 1) signals = atoi(argv[1]);
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
  action.sa_sigaction = on_signal;
  sigaction(SIGRTMIN, &action, NULL);
  during("computing", computes, 1);
  during("fork", forks, 1);
  during("vfork", vforks, 1);
  during("failing exec", fails_to_exec, 1);
  during("mask changes", changes_its_mask, 1);
  during("threads", starts_and_ends_threads, 0);
  return 0;
}
