// clone3: a process and a thread by the newest call, with a pidfd, an exit signal and a stack given by size, both words of
// the parent's at once, handlers that are forgotten; ids of one's choice, cgroups, too small a structure and unknown flags
// are answered as by the kernel.
// build: static -O1
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile int shared;
static volatile int tid_cell;
static char stack[65536] __attribute__((aligned(64)));

// Starts `work` on the new stack; in the child never returns. The function's address travels in a preserved register.
static long thread_by_clone3(struct clone_args* arguments, size_t size, void (*work)(void)) {
  long result;
  register void (*function)(void) __asm__("r12") = work;
  __asm__ volatile(
      "syscall; test %%rax, %%rax; jnz 1f; call *%%r12; mov $60, %%eax; xor %%edi, %%edi; syscall; 1:"
      : "=a"(result) : "0"(SYS_clone3), "D"(arguments), "S"(size), "r"(function) : "rcx", "r11", "memory");
  return result;
}
static void nothing(int signal) { (void)signal; }
// What a child finds as its handlers of two signals, one of which the parent ignores.
static int handlers(void) {
  struct sigaction handled, ignored;
  sigaction(SIGUSR1, NULL, &handled);
  sigaction(SIGUSR2, NULL, &ignored);
  return (handled.sa_handler == SIG_DFL) | (ignored.sa_handler == SIG_IGN) << 1;
}
static void exit_with_handlers(void) { _exit(10 + handlers()); }
static long clone_with(struct clone_args arguments) {
  arguments.exit_signal = SIGCHLD;
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) _exit(10 + handlers());
  return pid < 0 ? -errno : pid;
}

// What only clone3 has, of processes.
static void of_clone3_alone(void) {
  int pidfd = -1, parent = -1, status = 0;
  signal(SIGUSR1, nothing);
  signal(SIGUSR2, SIG_IGN);
  long pid = clone_with((struct clone_args){.flags = CLONE_PIDFD | CLONE_PARENT_SETTID,
                                            .pidfd = (uintptr_t)&pidfd, .parent_tid = (uintptr_t)&parent});
  GUEST_CHECK(waitpid((pid_t)pid, &status, 0) == pid);
  printf("both words: %d %d, status %d\n", pidfd >= 0, parent == pid, WEXITSTATUS(status));
  pid = clone_with((struct clone_args){.flags = CLONE_CLEAR_SIGHAND});
  GUEST_CHECK(waitpid((pid_t)pid, &status, 0) == pid);
  printf("handlers forgotten: status %d, here %d\n", WEXITSTATUS(status), handlers());
  struct clone_args sharing = {
      .flags = CLONE_CLEAR_SIGHAND | CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_PARENT_SETTID,
      .exit_signal = SIGCHLD, .pidfd = (uintptr_t)&pidfd, .parent_tid = (uintptr_t)&parent,
      .stack = (uintptr_t)stack, .stack_size = sizeof stack};
  pid = thread_by_clone3(&sharing, sizeof sharing, exit_with_handlers);
  GUEST_CHECK(waitpid((pid_t)pid, &status, 0) == pid);
  printf("in the same memory: %d, status %d, here %d\n", parent == pid, WEXITSTATUS(status), handlers());
  pid_t taken = 1;
  printf("an id that is taken: %ld\n", clone_with((struct clone_args){.set_tid = (uintptr_t)&taken, .set_tid_size = 1}));
  printf("no cgroup: %ld\n", clone_with((struct clone_args){.flags = CLONE_INTO_CGROUP, .cgroup = 77}));
  const struct clone_args both = {.flags = CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM};
  printf("shared and forgotten: %ld\n", clone_with(both));
}

static long refused(struct clone_args arguments) {
  return syscall(SYS_clone3, &arguments, sizeof arguments) < 0 ? -errno : 0;
}
static void refusals(void) {
  const uint64_t thread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, nowhere = UINT64_C(1) << 63;
  printf("detached: %ld, signal of a thread: %ld, of a sibling: %ld, no such signal: %ld\n",
         refused((struct clone_args){.flags = CLONE_DETACHED}),
         refused((struct clone_args){.flags = thread, .exit_signal = SIGCHLD}),
         refused((struct clone_args){.flags = CLONE_PARENT, .exit_signal = SIGCHLD}),
         refused((struct clone_args){.exit_signal = 65}));
  printf("storage that is not canonical: %ld of a process, %ld of a thread\n",
         refused((struct clone_args){.flags = CLONE_SETTLS, .tls = nowhere}),
         refused((struct clone_args){.flags = thread | CLONE_SETTLS, .tls = nowhere,
                                     .stack = (uintptr_t)stack, .stack_size = sizeof stack}));
}

static void count(void) {
  for (int i = 0; i < 1000; ++i) shared += 1;
}

int main(void) {
  struct clone_args arguments = {.exit_signal = SIGCHLD};
  int pidfd = -1;
  arguments.flags = CLONE_PIDFD;
  arguments.pidfd = (uintptr_t)&pidfd;
  long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) _exit(9);
  GUEST_CHECK(pid > 0 && pidfd >= 0);
  struct pollfd ended = {.fd = pidfd, .events = POLLIN};
  GUEST_CHECK(poll(&ended, 1, 5000) == 1);
  siginfo_t info;
  GUEST_CHECK(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) == 0);
  printf("process: status %d\n", info.si_status);

  for (int i = 0; i < 10; ++i) {
    tid_cell = -1;
    struct clone_args thread = {.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                         CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID,
                                .child_tid = (uintptr_t)&tid_cell, .stack = (uintptr_t)stack, .stack_size = sizeof stack};
    GUEST_CHECK(thread_by_clone3(&thread, sizeof thread, count) > 0);
    for (int now; (now = tid_cell) != 0;) syscall(SYS_futex, &tid_cell, FUTEX_WAIT, now, NULL, NULL, 0);
  }
  printf("threads: %d\n", shared);
  GUEST_CHECK(syscall(SYS_clone3, &arguments, 8) == -1);
  printf("small structure: %s\n", errno == EINVAL ? "EINVAL" : strerror(errno));
  arguments.flags = CLONE_THREAD;
  GUEST_CHECK(syscall(SYS_clone3, &arguments, sizeof arguments) == -1);
  printf("thread without memory: %s\n", errno == EINVAL ? "EINVAL" : strerror(errno));
  fflush(stdout);
  of_clone3_alone();
  refusals();
  return 0;
}
