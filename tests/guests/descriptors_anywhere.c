// Descriptors at every number a program may choose: dup2, F_DUPFD, close_range, listings of /proc/self/fd. None is
// taken but its own.
// build: dynamic
// run: as set
// run: low
// run: many
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static int open_ones(int limit) {
  int count = 0;
  struct stat status;
  struct statx more;
  char link[8];
  for (int fd = 0; fd < limit; ++fd) {
    const int open = fcntl(fd, F_GETFD) != -1;
    GUEST_CHECK((fstat(fd, &status) == 0) == open);
    GUEST_CHECK((fstatat(fd, "", &status, AT_EMPTY_PATH) == 0) == open);
    GUEST_CHECK((statx(fd, "", AT_EMPTY_PATH, STATX_MODE, &more) == 0) == open);
    GUEST_CHECK(open || (readlinkat(fd, "", link, sizeof link) == -1 && errno == EBADF));
    GUEST_CHECK(open || (faccessat(fd, "missing", F_OK, 0) == -1 && errno == EBADF));
    GUEST_CHECK(fstatat(fd, "/", &status, 0) == 0);
    count += open;
  }
  return count;
}

static int listed(void) {
  DIR* const folder = opendir("/proc/self/fd");
  int count = -1;  // its own
  for (struct dirent* each; (each = readdir(folder)) != 0;) count += each->d_name[0] != '.';
  closedir(folder);
  return count;
}

// More than zeroskid's numbers are high, where the limit allows it: each that the program gets is its own.
static void use_many(const char* who) {
  printf("%s: %d open\n", who, open_ones(4000));
  static int made[3000];
  int count = 0, unusable = 0;
  while (count < 3000 && (made[count] = dup(0)) >= 0) ++count;
  for (int i = 0; i < count; ++i) unusable += fcntl(made[i], F_GETFD) < 0 || close(made[i]) < 0;
  printf("%s: made %d, unusable %d\n", who, count, unusable);
  fflush(stdout);
}

int main(int argc, char** argv) {
  // With the limits as they are, or lowered.
  struct rlimit limit = {1024, 1024};
  const char* const how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "low") == 0) GUEST_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  getrlimit(RLIMIT_NOFILE, &limit);
  if (strcmp(how, "many") == 0) {
    limit.rlim_cur = limit.rlim_max;
    GUEST_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    use_many("parent");
    const pid_t child = fork();
    if (child == 0) {
      use_many("child");
      _exit(0);
    }
    return waitpid(child, 0, 0) != child;
  }
  const int end = limit.rlim_cur < 1200 ? (int)limit.rlim_cur - 8 : 1200;  // some are left for what is done here
  int refused = 0;
  for (int fd = 3; fd < end; ++fd) {
    errno = 0;
    if (dup2(0, fd) != fd && ++refused < 5) printf("dup2 to %d: %s\n", fd, strerror(errno));
  }
  printf("refused %d, open %d, listed %d\n", refused, open_ones(end), listed());
  const pid_t child = fork();
  if (child == 0) {
    printf("child: open %d, listed %d\n", open_ones(end), listed());
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "echo $(ls /proc/self/fd | wc -l)", (char*)0);
    _exit(127);
  }
  waitpid(child, 0, 0);
  for (int fd = 3; fd < end; ++fd) GUEST_CHECK(close(fd) == 0);
  printf("open %d, listed %d\n", open_ones(end), listed());
  // The lowest free one, up to there.
  int highest = 0, descriptor;
  while (highest < end - 1 && (descriptor = dup(0)) >= 0) {
    GUEST_CHECK(descriptor == (highest == 0 ? 3 : highest + 1));
    highest = descriptor;
  }
  printf("counted up to %d\n", highest == end - 1);
  GUEST_CHECK(close_range(3, ~0u, 0) == 0);
  const int from = fcntl(0, F_DUPFD, 1000);
  printf("from 1000: %d\n", from);
  printf("open %d, listed %d\n", open_ones(end), listed());
  return 0;
}
