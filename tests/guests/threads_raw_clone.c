// clone with CLONE_VM called directly, no pthreads: a thread on a stack of our own, its TID written and cleared, a futex
// wait for the clearing; and a CLONE_VM process that is not a thread.
// build: static -O1
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile int result;
static volatile pid_t child_tid, parent_tid;
static char stack[65536] __attribute__((aligned(16)));

static int work(void* argument) {
  for (int i = 0; i < 1000; ++i) result += *(int*)argument;
  return 3;
}
static int work_and_exit(void* argument) {
  work(argument);
  syscall(SYS_exit, 0);
  return 0;
}

int main(void) {
  int step = 2;
  for (int round = 0; round < 20; ++round) {
    child_tid = -1;
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                      CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    const int tid = clone(work_and_exit, stack + sizeof stack, flags, &step, &parent_tid, NULL, &child_tid);
    GUEST_CHECK(tid > 0);
    GUEST_CHECK(parent_tid == tid);
    for (pid_t now; (now = child_tid) != 0;) syscall(SYS_futex, &child_tid, FUTEX_WAIT, now, NULL, NULL, 0);
  }
  printf("threads: %d\n", result);
  result = 0;
  const int pid = clone(work, stack + sizeof stack, CLONE_VM | SIGCHLD, &step);
  GUEST_CHECK(pid > 0);
  int status;
  GUEST_CHECK(waitpid(pid, &status, 0) == pid);
  printf("shared memory process: %d exit %d\n", result, WEXITSTATUS(status));
  result = 0;
  const int separate = clone(work, stack + sizeof stack, SIGCHLD, &step);
  waitpid(separate, &status, 0);
  printf("own memory process: %d exit %d\n", result, WEXITSTATUS(status));
  return 0;
}
