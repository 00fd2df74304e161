// A process that shares memory and signal handlers with the one that made it (CLONE_VM, CLONE_SIGHAND, no
// CLONE_THREAD): a handler that one of them sets is the other's too; ids, children, ends and threads are each one's
// own.
// build: dynamic
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile int handled_by, ran;
static void handler(int signal) { handled_by = signal == SIGUSR1 ? getpid() : -1; }

static int child(void* number) {
  ran = getpid();
  signal(SIGUSR1, handler);
  return 40 + (int)(long)number;
}

static void* thread(void* number) { return (char*)number + 1; }

int main(void) {
  static char stacks[2][1 << 16] __attribute__((aligned(16)));
  const int own = getpid();
  for (long i = 0; i < 2; ++i) {
    handled_by = 0;
    signal(SIGUSR1, SIG_IGN);
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD;
    const pid_t made = clone(child, stacks[i] + sizeof stacks[i], flags, (void*)i);
    GUEST_CHECK(made > 0);
    // While it lives and when it is gone: threads of this process begin and end as ever.
    for (long n = 0; n < 20; ++n) {
      pthread_t one;
      void* result;
      GUEST_CHECK(pthread_create(&one, 0, thread, (void*)n) == 0 && pthread_join(one, &result) == 0);
      GUEST_CHECK(result == (void*)(n + 1));
    }
    int status;
    GUEST_CHECK(waitpid(made, &status, 0) == made);
    printf("ran as itself %d, ended with %d", ran == made, WEXITSTATUS(status));
    raise(SIGUSR1);
    printf(", its handler is ours %d, we are who we were %d\n", handled_by == own, getpid() == own);
    pthread_t one;
    GUEST_CHECK(pthread_create(&one, 0, thread, 0) == 0 && pthread_join(one, 0) == 0);
    const pid_t forked = fork();
    if (forked == 0) _exit(getppid() == own ? 3 : 4);
    GUEST_CHECK(waitpid(forked, &status, 0) == forked);
    printf("a fork ended with %d\n", WEXITSTATUS(status));
  }
  return 5;
}
