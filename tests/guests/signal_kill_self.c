// Children that kill themselves by each signal: what the parent sees of each end.
// build: dynamic -O1
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  for (int signal_number = 1; signal_number < 32; ++signal_number) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_DUMPABLE, 0);
      kill(getpid(), signal_number);
      _exit(7);
    }
    int status;
    waitpid(child, &status, WUNTRACED);
    printf("%2d: ", signal_number);
    if (WIFEXITED(status)) printf("exited %d\n", WEXITSTATUS(status));
    else if (WIFSTOPPED(status)) printf("stopped by %d\n", WSTOPSIG(status));
    else printf("killed by %d\n", WTERMSIG(status));
    if (WIFSTOPPED(status)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
  }
  return 0;
}
