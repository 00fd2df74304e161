// RLIMIT_AS, RLIMIT_DATA and RLIMIT_STACK: what the program may map under limits that it sets, what it reads of them, and what a child and another
// program inherit.
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kMiB = 1 << 20 };

static void show(const char* name, int resource) {
  struct rlimit limit;
  GUEST_CHECK(getrlimit(resource, &limit) == 0);
  printf("%s %lld %lld\n", name, (long long)limit.rlim_cur, (long long)limit.rlim_max);
}

static void set(int resource, rlim_t soft) {
  struct rlimit limit;
  GUEST_CHECK(getrlimit(resource, &limit) == 0);
  limit.rlim_cur = soft;
  printf("set: %d\n", setrlimit(resource, &limit) == 0 ? 0 : errno);
}

static void* map(const char* what, size_t bytes, int protection, int flags) {
  void* const at = mmap(0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  printf("%s: %s\n", what, at == MAP_FAILED ? strerror(errno) : "mapped");
  return at;
}

static void* is(const char* what, void* result) {
  printf("%s: %s\n", what, result == MAP_FAILED ? strerror(errno) : "done");
  return result;
}

static int dig(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth == 0 ? frame[0] : dig(depth - 1) + frame[0];
}

int main(int count, char** words) {
  setvbuf(stdout, 0, _IONBF, 0);
  show("address space", RLIMIT_AS);
  show("data", RLIMIT_DATA);
  if (count > 1) {  // what was executed
    map("400 MiB", 400 * kMiB, PROT_READ, 0);
    return 0;
  }
  set(RLIMIT_AS, 256 * kMiB);
  show("address space", RLIMIT_AS);
  map("512 MiB, reserved", 512 * kMiB, PROT_NONE, MAP_NORESERVE);
  char* part = map("64 MiB", 64 * kMiB, PROT_READ | PROT_WRITE, 0);
  is("the same place", mmap(part, 64 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  is("longer", mremap(part, 64 * kMiB, 400 * kMiB, MREMAP_MAYMOVE));
  is("a little longer", mremap(part, 64 * kMiB, 65 * kMiB, MREMAP_MAYMOVE));
  is("break", sbrk(300 * kMiB));
  printf("malloc %d %d\n", malloc(300 * kMiB) != 0, malloc(10 * kMiB) != 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    show("address space of a child", RLIMIT_AS);
    map("400 MiB", 400 * kMiB, PROT_READ, 0);
    execl("/proc/self/exe", words[0], "executed", (char*)0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
  if (system("ulimit -v") != 0) puts("no shell");

  set(RLIMIT_AS, RLIM_INFINITY);
  set(RLIMIT_DATA, 32 * kMiB);
  map("64 MiB of data", 64 * kMiB, PROT_READ | PROT_WRITE, 0);
  part = map("64 MiB reserved", 64 * kMiB, PROT_NONE, 0);
  is("made writable", mprotect(part, 64 * kMiB, PROT_READ | PROT_WRITE) == 0 ? part : MAP_FAILED);
  is("break", sbrk(48 * kMiB));
  is("shared", mmap(0, 64 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  struct rlimit wrong = {5, 4};
  printf("wrong: %d\n", setrlimit(RLIMIT_AS, &wrong) == 0 ? 0 : errno);
  set(RLIMIT_DATA, RLIM_INFINITY);

  printf("%d\n", dig(400));  // 1.6 MiB
  const pid_t deep = fork();
  if (deep == 0) {
    set(RLIMIT_STACK, 2 * kMiB);
    printf("%d\n", dig(400));
    dig(1000);
    puts("not limited");
    _exit(0);
  }
  waitpid(deep, &status, 0);
  printf("too deep: signal %d\n", WTERMSIG(status));
  set(RLIMIT_STACK, 16 * kMiB);
  printf("%d\n", dig(3000));
  return 0;
}
