// A program that changes its own file's mode, owner, times and attributes through /proc/self/exe: it is the program's
// file that changes, not the tool's.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "guest.h"

static const char self[] = "/proc/self/exe", copy[] = "own_file_changed.copy";

static void copy_self(void) {
  static char bytes[65536];
  const int from = open(self, O_RDONLY), to = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  GUEST_CHECK(from >= 0 && to >= 0);
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;) GUEST_CHECK(write(to, bytes, (size_t)n) == n);
  close(from);
  close(to);
}

static void show(const char* what, long result) {
  const int error = errno;
  struct stat it;
  GUEST_CHECK(stat(copy, &it) == 0);
  printf("%s: %s; mode %o, accessed %ld, changed %ld\n", what, result < 0 ? strerror(error) : "done", it.st_mode & 07777,
         it.st_atim.tv_sec < 1000000 ? (long)it.st_atim.tv_sec : -1, it.st_mtim.tv_sec < 1000000 ? (long)it.st_mtim.tv_sec : -1);
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc == 1) {
    copy_self();
    execl(copy, copy, "changes", (char*)0);
    return 1;
  }
  const struct timespec times[2] = {{1000, 0}, {2000, 0}};
  const struct timeval other_times[2] = {{3000, 0}, {4000, 0}};
  const struct utimbuf old_times = {5000, 6000};
  show("chmod", chmod(self, 0711));
  show("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, self, 0701));
  show("chown", syscall(SYS_chown, self, -1, -1));
  show("fchownat", fchownat(AT_FDCWD, self, (uid_t)-1, (gid_t)-1, 0));
  show("utimensat", utimensat(AT_FDCWD, self, times, 0));
  show("futimesat", syscall(SYS_futimesat, AT_FDCWD, self, other_times));
  show("utime", syscall(SYS_utime, self, &old_times));
  show("utimes", syscall(SYS_utimes, self, other_times));
  char value[64] = "";
  const long set = setxattr(self, "user.guest", "value", 5, 0);
  show("setxattr", set);
  show("getxattr", getxattr(self, "user.guest", value, sizeof value));
  printf("value %s, of the file %ld\n", value, (long)getxattr(copy, "user.guest", value, sizeof value));
  show("listxattr", listxattr(self, value, sizeof value));
  show("removexattr", removexattr(self, "user.guest"));
  struct statfs of_self, of_copy;
  show("statfs", statfs(self, &of_self));
  GUEST_CHECK(statfs(copy, &of_copy) == 0);
  printf("the same file system %d\n", memcmp(&of_self.f_fsid, &of_copy.f_fsid, sizeof of_self.f_fsid) == 0);
  const int watch = inotify_init1(IN_NONBLOCK);
  show("inotify_add_watch", inotify_add_watch(watch, self, IN_ATTRIB));
  chmod(copy, 0700);
  char events[256];
  printf("events %ld\n", (long)read(watch, events, sizeof events));
  return unlink(copy);
}
