// posix_spawn with file actions and attributes; of a missing program the error must come back as its return value.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

extern char** environ;

int main(void) {
  pid_t pid;
  int status;
  char* missing[] = {"missing", NULL};
  for (int i = 0; i < 3; ++i) {
    const int error = posix_spawn(&pid, "/no/such/program", NULL, NULL, missing, environ);
    printf("missing: %s\n", error == ENOENT ? "ENOENT" : strerror(error));
  }
  const int not_executable = posix_spawn(&pid, "/etc/passwd", NULL, NULL, missing, environ);
  printf("not executable: %s\n", not_executable == EACCES ? "EACCES" : strerror(not_executable));
  const int in_path = posix_spawnp(&pid, "no-such-program-in-path", NULL, NULL, missing, environ);
  printf("not in PATH: %s, no child: %d\n", in_path == ENOENT ? "ENOENT" : strerror(in_path), wait(&status) == -1 && errno == ECHILD);

  int ends[2];
  GUEST_CHECK(pipe(ends) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  posix_spawnattr_setsigmask(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char* shell[] = {"sh", "-c", "grep SigBlk /proc/self/status; echo spawned; exit 5", NULL};
  GUEST_CHECK(posix_spawnp(&pid, "sh", &actions, &attributes, shell, environ) == 0);
  close(ends[1]);
  char text[256];
  size_t used = 0;
  for (ssize_t n; (n = read(ends[0], text + used, sizeof text - 1 - used)) > 0;) used += (size_t)n;
  text[used] = 0;
  waitpid(pid, &status, 0);
  printf("%sstatus %d\n", text, WEXITSTATUS(status));
  return 0;
}
