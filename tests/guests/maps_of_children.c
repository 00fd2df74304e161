// What a program reads in maps and smaps of its children, forked ones and others: what they read of themselves.
// build: dynamic
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static char* slurp(const char* path, int fd) {
  static char buffers[4][1 << 18];
  static int next;
  char* const text = buffers[next++ % 4];
  if (path != 0) fd = open(path, O_RDONLY);
  GUEST_CHECK(fd >= 0);
  size_t used = 0;
  for (ssize_t got; (got = read(fd, text + used, (1 << 18) - 1 - used)) > 0;) used += (size_t)got;
  text[used] = 0;
  close(fd);
  return text;
}

// The lines of mappings: "55f0-55f1 r-xp ...". What smaps counts differs between two readings.
static void mappings_only(char* text) {
  char* out = text;
  for (char* line = text; *line != 0;) {
    char* const end = strchrnul(line, '\n');
    const size_t size = (size_t)(end - line) + (*end != 0);
    const char* dash = line + strspn(line, "0123456789abcdef");
    if (dash > line && *dash == '-') {
      memmove(out, line, size);
      out += size;
    }
    line += size;
  }
  *out = 0;
}

static void compare(const char* what, const char* seen, const char* own) {
  int lines = 0, code = 0, named = 0;
  for (const char* at = seen; *at != 0; at = strchrnul(at, '\n'), at += *at != 0) {
    ++lines;
    const char* const mode = strchr(at, ' ');
    code += mode != 0 && mode[3] == 'x';
  }
  named = (strstr(seen, "[heap]") != 0) + (strstr(seen, "[stack]") != 0);
  const int same = strcmp(seen, own) == 0;
  printf("%s: some %d, code %d, named %d, the same %d, tool %d\n", what, lines > 5, code > 2, named, same,
         strstr(seen, "zeroskid-run") != 0);
  if (!same) fprintf(stderr, "seen:\n%s\nown:\n%s\n", seen, own);
}

static void look_at_forked(const char* file) {
  int go[2], back[2];
  GUEST_CHECK(pipe(go) == 0 && pipe(back) == 0);
  const pid_t child = fork();
  GUEST_CHECK(child >= 0);
  char path[64];
  if (child == 0) {
    // Some of its own: what has been code, what is no longer, what grew.
    char* const more = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GUEST_CHECK(more != MAP_FAILED && mprotect(more + 4096, 4096, PROT_NONE) == 0);
    more[0] = (char)0xC3;
    ((void (*)(void))(void*)more)();
    char* const shared = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    GUEST_CHECK(shared != MAP_FAILED && munmap(shared, 4096) == 0);
    snprintf(path, sizeof path, "/proc/self/%s", file);
    char* const own = slurp(path, 0);
    mappings_only(own);
    GUEST_CHECK(write(back[1], "r", 1) == 1);
    char c;
    GUEST_CHECK(read(go[0], &c, 1) == 1);
    GUEST_CHECK(write(back[1], own, strlen(own)) == (ssize_t)strlen(own));
    _exit(0);
  }
  close(back[1]);
  char c;
  GUEST_CHECK(read(back[0], &c, 1) == 1);
  snprintf(path, sizeof path, "/proc/%d/%s", child, file);
  char* const seen = slurp(path, 0);
  mappings_only(seen);
  GUEST_CHECK(write(go[1], "g", 1) == 1);
  compare(file, seen, slurp(0, back[0]));
  waitpid(child, 0, 0);
}

int main(int argc, char** argv) {
  if (argc > 1) {  // executed below
    char* const maps = slurp("/proc/self/maps", 0);
    GUEST_CHECK(write(1, maps, strlen(maps)) == (ssize_t)strlen(maps));
    close(1);
    pause();
  }
  look_at_forked("maps");
  look_at_forked("smaps");
  int back[2];
  GUEST_CHECK(pipe(back) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(back[1], 1);
    close(back[1]);
    execl(argv[0], argv[0], "child", (char*)0);
    _exit(127);
  }
  close(back[1]);
  char* const own = slurp(0, back[0]);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/maps", child, child);
  compare("executed", slurp(path, 0), own);
  kill(child, SIGKILL);
  waitpid(child, 0, 0);
  return 0;
}
