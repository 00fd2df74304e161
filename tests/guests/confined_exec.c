// A program that confines itself by Landlock to the system's folders and executes one of their programs: in a child, and
// in its own place. The sandbox knows nothing of what runs it. Where the kernel has no Landlock, it says so.
// run:
// run: without /proc
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadFolder = 8, kPathBeneath = 1, kVersion = 1 };

int main(int argc, char** argv) {
  (void)argv;
  if (syscall(SYS_landlock_create_ruleset, NULL, 0, kVersion) < 0) {
    puts("no Landlock here");
    return 0;
  }
  const uint64_t handled = kExecute | kWriteFile | kReadFile | kReadFolder;
  const int rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  static const char* const kFolders[] = {"/usr", "/lib", "/lib64", "/bin", "/etc", "/proc"};
  const size_t count = sizeof kFolders / sizeof *kFolders - (argc > 1);
  for (size_t i = 0; i < count; ++i) {
    struct __attribute__((packed)) {
      uint64_t allowed;
      int32_t parent;
    } rule = {kExecute | kReadFile | kReadFolder, open(kFolders[i], O_PATH | O_CLOEXEC)};
    if (rule.parent < 0) continue;
    GUEST_CHECK(syscall(SYS_landlock_add_rule, rules, kPathBeneath, &rule, 0) == 0);
    close(rule.parent);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  GUEST_CHECK(syscall(SYS_landlock_restrict_self, rules, 0) == 0);
  printf("/tmp: %s\n", open("/tmp", O_RDONLY) < 0 ? strerror(errno) : "open");
  printf("/proc/self/status: %s\n", open("/proc/self/status", O_RDONLY) < 0 ? strerror(errno) : "open");
  fflush(stdout);
  if (fork() == 0) {
    execl("/usr/bin/expr", "expr", "6", "*", "7", NULL);
    printf("child: %s\n", strerror(errno));
    _exit(1);
  }
  int status;
  wait(&status);
  printf("child ended with %d\n", WEXITSTATUS(status));
  fflush(stdout);
  execl("/usr/bin/expr", "expr", "40", "+", "2", NULL);
  printf("%s\n", strerror(errno));
  return 1;
}
