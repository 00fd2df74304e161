// clone3: a process and a thread by the newest call, with a pidfd, an exit signal and a stack given by size; too small a
// structure and unknown flags are refused as the kernel refuses them.
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
  return 0;
}
