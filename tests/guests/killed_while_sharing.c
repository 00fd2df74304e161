// A child that shares memory, and is no thread, is killed while it computes: the parent goes on, and so do other children.
// build: dynamic
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long counted;
static int compute(void* unused) {
  (void)unused;
  while (counted >= 0) ++counted;
  return 0;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int round = 0; round < 3; ++round) {
    char* const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const long before = counted;
    const pid_t child = clone(compute, stack + 65536, CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
    while (counted == before) usleep(1000);
    int status = 0;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    printf("%d: signal %d, it ran: %d\n", round, WTERMSIG(status), counted != before);
  }
  const pid_t child = fork();
  if (child == 0) _exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  printf("then a child exits with %d\n", WEXITSTATUS(status));
  return 0;
}
