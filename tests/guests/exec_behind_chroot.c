// A program that has changed its root executes what is there: the same file by another path. As an ordinary user, in a
// user namespace of its own; /proc is there too.
// build: static -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static void copy(const char* from, const char* to) {
  static char bytes[1 << 16];
  const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
  GUEST_CHECK(in >= 0 && out >= 0);
  for (ssize_t n; (n = read(in, bytes, sizeof bytes)) > 0;) GUEST_CHECK(write(out, bytes, (size_t)n) == n);
  close(in);
  close(out);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    char path[256] = "";
    GUEST_CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    printf("%s executes %s, /bin is there: %d\n", argv[1], path, access("/bin", F_OK) == 0);
    return 3;
  }
  GUEST_CHECK(mkdir("root", 0755) == 0 && mkdir("root/proc", 0755) == 0);
  copy("/proc/self/exe", "root/program");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || mount("/proc", "root/proc", 0, MS_BIND | MS_REC, 0) != 0) {
      printf("no user namespaces here: %s\n", strerror(errno));
      return 0;
    }
    GUEST_CHECK(chroot("root") == 0 && chdir("/") == 0);
    execl("/program", "/program", "behind chroot", (char*)0);
    printf("execl: %s\n", strerror(errno));
    return 1;
  }
  int status = 0;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  printf("exit status %d\n", WEXITSTATUS(status));
  return 0;
}
