// A program that executes itself again and again, by every call there is, counting down in its argument.
// build: dynamic -O1
// run: 12
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

extern char** environ;

int main(int argc, char** argv) {
  const int left = argc > 1 ? atoi(argv[1]) : 0;
  char next[16], step[32];
  snprintf(next, sizeof next, "%d", left - 1);
  snprintf(step, sizeof step, "STEP=%d", left);
  const char* before = getenv("STEP");
  printf("%d argv[0]=%s STEP=%s pid kept %d\n", left, strrchr(argv[0], '/') ? "path" : argv[0], before ? before : "none",
         before == NULL || getpid() == atoi(getenv("FIRST")));
  if (left == 0) return 7;
  fflush(stdout);
  char first[32];
  snprintf(first, sizeof first, "FIRST=%d", getpid());
  char* arguments[] = {"again", next, NULL};
  char* environment[] = {step, getenv("FIRST") ? getenv("FIRST") - 6 : first, NULL};
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  GUEST_CHECK(n > 0);
  self[n] = 0;
  switch (left % 4) {
    case 0: execve(self, arguments, environment); break;
    case 1: environ = environment; execvp(self, arguments); break;
    case 2: fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environment); break;
    case 3: syscall(SYS_execveat, AT_FDCWD, self, arguments, environment, 0); break;
  }
  perror("exec");
  return 1;
}
