// A deadly signal at every moment of a child's fork, vfork and execve: none may get lost on the way from one image to
// the next, and a vfork child that dies of it lets its parent go on.
// build: dynamic -O1
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { MOMENTS = 80, STEP_MICROSECONDS = 300 };

static int ended_by_sigterm(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

static int fork_and_exec(unsigned delay) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "1", (char*)NULL);
    _exit(1);
  }
  usleep(delay);
  kill(child, SIGTERM);
  return ended_by_sigterm(child);
}

// The signal goes to both, the child and the vfork child that it waits for; the pipe ends when both have.
static int vfork_and_exec(unsigned delay) {
  int ends[2];
  GUEST_CHECK(pipe(ends) == 0);
  const pid_t group = fork();
  if (group == 0) {
    setpgid(0, 0);
    close(ends[0]);
    const pid_t grandchild = vfork();
    if (grandchild == 0) {
      execl("/bin/sleep", "sleep", "1", (char*)NULL);
      _exit(1);
    }
    while (1) pause();
  }
  close(ends[1]);
  setpgid(group, group);
  usleep(delay);
  kill(-group, SIGTERM);
  const int ended = ended_by_sigterm(group);
  struct pollfd end = {.fd = ends[0], .events = POLLIN};
  const int both_ended = poll(&end, 1, 800) == 1;  // the sleep would take longer
  close(ends[0]);
  return ended && both_ended;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : MOMENTS;
  int killed = 0, both = 0;
  for (int i = 0; i < rounds; ++i) {
    killed += fork_and_exec((unsigned)(i % MOMENTS) * STEP_MICROSECONDS);
    both += vfork_and_exec((unsigned)(i % MOMENTS) * STEP_MICROSECONDS);
  }
  printf("killed %d of %d after fork, %d of %d around vfork\n", killed, rounds, both, rounds);
  return 0;
}
