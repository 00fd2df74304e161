// vfork: the parent waits, sees what the child wrote to shared memory, and gets the error of a failed execve.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile int failure, before_exec;

static int run(const char* program, char* const argv[]) {
  failure = 0;
  before_exec = 0;
  const pid_t child = vfork();
  if (child == 0) {
    before_exec = 1;
    execv(program, argv);
    failure = errno;  // in the parent's memory
    _exit(127);
  }
  GUEST_CHECK(child > 0 && before_exec == 1);
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  char* echo[] = {"echo", "from", "a", "vfork", "child", NULL};
  char* none[] = {"none", NULL};
  char* shell[] = {"sh", "-c", "exit 17", NULL};
  printf("status %d\n", run("/bin/echo", echo));
  printf("status %d\n", run("/bin/sh", shell));
  for (int i = 0; i < 3; ++i) {
    const int status = run("/no/such/program", none);
    printf("status %d error %s\n", status, failure == ENOENT ? "ENOENT" : strerror(failure));
  }
  const int status = run("/etc/passwd", none);
  printf("status %d error %s\n", status, failure == EACCES ? "EACCES" : strerror(failure));
  for (int i = 0; i < 20; ++i) GUEST_CHECK(run("/bin/true", none) == 0);
  puts("twenty more");
  return 0;
}
