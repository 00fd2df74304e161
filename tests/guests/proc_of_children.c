// What a program reads under /proc of its children, forked ones and others, right after execve: their command line,
// environment, executable, name, auxiliary vector.
// build: dynamic
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static char text[1 << 16];
static size_t read_file(pid_t pid, const char* name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  const int fd = open(path, O_RDONLY);
  GUEST_CHECK(fd >= 0);
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  GUEST_CHECK(n >= 0);
  text[n] = 0;
  return (size_t)n;
}

static void show(const char* which, pid_t pid) {
  char path[64], target[4096];
  snprintf(path, sizeof path, "/proc/%d/exe", pid);
  const ssize_t length = readlink(path, target, sizeof target - 1);
  target[length < 0 ? 0 : length] = 0;
  printf("%s: executable %s, opens %d\n", which, strrchr(target, '/') + 1, access(path, X_OK));
  size_t size = read_file(pid, "cmdline");
  for (size_t i = 0; i < size; ++i) {
    if (text[i] == 0) text[i] = '|';
  }
  char* const name = strrchr(strtok(text, "|"), '/');
  printf("command %s, then %s\n", name, strtok(0, "|"));
  size = read_file(pid, "environ");
  printf("environment %s, %zu bytes\n", text, size);
  read_file(pid, "comm");
  printf("name %s", text);
  size = read_file(pid, "auxv");
  for (Elf64_auxv_t* each = (Elf64_auxv_t*)text; each->a_type != AT_NULL; ++each) {
    if (each->a_type == AT_PHNUM || each->a_type == AT_PHENT || each->a_type == AT_PAGESZ)
      printf("auxv %lu: %lu\n", each->a_type, each->a_un.a_val);
  }
  read_file(pid, "stat");
  unsigned long fields[52] = {0};
  char* at = strtok(strrchr(text, ')') + 1, " ");
  for (int i = 3; i < 52 && at != 0; ++i, at = strtok(0, " ")) fields[i] = strtoul(at, 0, 10);
  printf("arguments before environment %d, stack below them %d, code %lu bytes\n",
         fields[48] < fields[49] && fields[49] <= fields[50] && fields[50] < fields[51], fields[28] < fields[48],
         fields[27] - fields[26]);
}

int main(int count, char** words) {
  if (count > 2) {
    pause();
    return 0;
  }
  setenv("MARK", "own", 1);
  const pid_t forked = fork();
  if (forked == 0) {
    pause();
    return 0;
  }
  show("forked", forked);
  char* const arguments[] = {words[0], "one", "two", 0};
  char* const variables[] = {"MARK=child's", "LD_LIBRARY_PATH=/nowhere", 0};
  int ends[2];
  GUEST_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t executed = fork();
  if (executed == 0) {
    execve("/proc/self/exe", arguments, variables);
    _exit(1);
  }
  close(ends[1]);
  GUEST_CHECK(read(ends[0], text, 1) == 0);              // closed by execve
  while (read_file(executed, "cmdline") == 0) continue;  // what the kernel shows of it comes a little later
  usleep(1000);
  show("executed", executed);
  kill(forked, SIGTERM);
  kill(executed, SIGTERM);
  int status = 0;
  while (wait(&status) > 0) printf("ended by %d\n", WTERMSIG(status));
  return 0;
}
