// A deadly signal at every moment of a child's fork and execve: none may get lost on the way from one image to the next.
// build: dynamic -O1
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { CHILDREN = 80, STEP_MICROSECONDS = 300 };

int main(void) {
  int killed = 0;
  for (int i = 0; i < CHILDREN; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sleep", "sleep", "1", (char*)NULL);
      _exit(1);
    }
    usleep((unsigned)i * STEP_MICROSECONDS);
    kill(child, SIGTERM);
    int status;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
  }
  printf("killed %d of %d\n", killed, CHILDREN);
  return 0;
}
