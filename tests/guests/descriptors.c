// File descriptors: close_range over everything, dup2 and fcntl onto high numbers, the lowest free one is handed out,
// RLIMIT_NOFILE, closing what is not open. Whatever the tool keeps open must neither show nor break.
// build: dynamic -O1
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static int lowest(void) {
  const int fd = open("/dev/null", O_RDONLY);
  close(fd);
  return fd;
}

int main(void) {
  printf("lowest free %d\n", lowest());
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  printf("limit at least 1000: %d\n", limit.rlim_cur >= 1000);
  const int high[] = {500, 800, 999};
  for (int i = 0; i < 3; ++i) {
    const int fd = dup2(1, high[i]);
    printf("dup2 to %d gives %d, flags %d\n", high[i], fd, fcntl(fd, F_GETFD));
  }
  printf("F_DUPFD from 700 gives %d\n", fcntl(0, F_DUPFD, 700));
  printf("dup3 with CLOEXEC gives %d\n", dup3(1, 900, O_CLOEXEC));
  int open_ones = 0;
  for (int fd = 0; fd < (int)limit.rlim_cur && fd < 20000; ++fd) open_ones += fcntl(fd, F_GETFD) != -1;
  printf("open %d\n", open_ones);  // 0 1 2 500 700 800 900 999
  errno = 0;
  const int closed = close(600);
  printf("close of a closed one %d %s\n", closed, errno == EBADF ? "EBADF" : "?");
  fflush(stdout);
  GUEST_CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
  open_ones = 0;
  for (int fd = 0; fd < 20000; ++fd) open_ones += fcntl(fd, F_GETFD) != -1;
  printf("after close_range %d, lowest %d\n", open_ones, lowest());
  for (int fd = 3; fd < 20000; ++fd) close(fd);  // as daemons do
  printf("after closing all, lowest %d\n", lowest());
  const pid_t child = fork();
  if (child == 0) {
    GUEST_CHECK(syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE) == 0);
    execl("/bin/sh", "sh", "-c", "echo shell runs; ls /proc/self/fd | wc -l", (char*)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  printf("status %d\n", WEXITSTATUS(status));
  int many = 0;
  while (many < 400 && open("/dev/null", O_RDONLY) >= 0) ++many;
  printf("opened %d more, next %d\n", many, lowest());
  return 0;
}
