// Failed execve calls leave the program running with the right error; descriptors close on exec only when it works.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static void try(const char* what, const char* path) {
  char* const argv[] = {(char*)path, NULL};
  errno = 0;
  execv(path, argv);
  printf("%-24s %s\n", what, strerrorname_np(errno));
}
static void make(const char* path, const char* text, size_t bytes, mode_t mode) {
  const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0700);
  GUEST_CHECK(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
  close(fd);
  chmod(path, mode);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  char directory[] = "/tmp/exec-errors-XXXXXX";
  GUEST_CHECK(mkdtemp(directory) != NULL && chdir(directory) == 0);
  make("garbage", "this is no program\n", 19, 0755);
  make("elf-only-in-name", "\177ELF then nothing", 17, 0755);
  make("wrong-machine", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\267\0\1\0\0\0", 64 - 40, 0755);
  make("bad-interpreter", "#!/no/such/interpreter\n", 23, 0755);
  make("not-executable", "#!/bin/sh\necho never\n", 21, 0644);
  make("empty", "", 0, 0755);
  const int marked = open("/dev/null", O_RDONLY | O_CLOEXEC);
  try("missing", "./missing");
  try("directory", "/tmp");
  try("not executable", "./not-executable");
  try("garbage", "./garbage");
  try("truncated ELF", "./elf-only-in-name");
  try("other machine", "./wrong-machine");
  try("bad interpreter", "./bad-interpreter");
  try("empty file", "./empty");
  try("component is a file", "./garbage/x");
  try("empty path", "");
  printf("descriptor still open: %d\n", fcntl(marked, F_GETFD) == FD_CLOEXEC);
  char number[16];
  snprintf(number, sizeof number, "%d", marked);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "test -e /proc/self/fd/$0 && echo open || echo closed on exec", number, (char*)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
  const char* const names[] = {"garbage", "elf-only-in-name", "wrong-machine", "bad-interpreter", "not-executable", "empty"};
  for (int i = 0; i < 6; ++i) unlink(names[i]);
  rmdir(directory);
  return 0;
}
