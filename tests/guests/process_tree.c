// popen, system, double fork, orphans, process groups and sessions.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  FILE* reader = popen("for i in 1 2 3; do echo line $i; done; exit 9", "r");
  char line[64];
  while (fgets(line, sizeof line, reader)) printf("popen: %s", line);
  printf("pclose %d\n", WEXITSTATUS(pclose(reader)));
  FILE* writer = popen("sort -r", "w");
  fputs("a\nc\nb\n", writer);
  pclose(writer);
  printf("system %d %d\n", WEXITSTATUS(system("exit 4")), system(NULL) != 0);
  const int killed = system("kill -9 $$");
  printf("system killed by %d\n", WTERMSIG(killed));

  int ends[2];
  GUEST_CHECK(pipe(ends) == 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t middle = fork();
  if (middle == 0) {
    if (fork() == 0) {  // the grandchild outlives its parent
      close(ends[0]);
      while (getppid() == (pid_t)0 || kill(getppid(), 0) != 0) usleep(1000);
      usleep(20000);
      GUEST_CHECK(write(ends[1], "orphan", 6) == 6);
      _exit(12);
    }
    _exit(11);
  }
  int status;
  GUEST_CHECK(waitpid(middle, &status, 0) == middle);
  printf("middle %d\n", WEXITSTATUS(status));
  close(ends[1]);
  char text[16] = "";
  GUEST_CHECK(read(ends[0], text, 15) == 6);
  GUEST_CHECK(wait(&status) > 0);
  printf("%s reaped here: %d\n", text, WEXITSTATUS(status));

  const pid_t leader = fork();
  if (leader == 0) {
    GUEST_CHECK(setsid() == getpid() && getpgrp() == getpid());
    for (int i = 0; i < 3; ++i) {
      if (fork() == 0) {
        for (;;) pause();
      }
    }
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);  // the whole group
    int ended = 0;
    while (wait(&status) > 0) ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    _exit(ended);
  }
  waitpid(leader, &status, 0);
  printf("group of %d ended\n", WEXITSTATUS(status));
  return 0;
}
