// A program that denies itself memory which is written and executed (PR_SET_MDWE, Linux 6.3): what it may still map and
// protect, and what a child and a program that it executes have of it. Where the kernel has none, it says so.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kSet = 65, kGet = 66, kRefuse = 1, kNotInherited = 2 };

static void tell(const char* what, int result) {
  printf("%s: %s; ", what, result == 0 ? "done" : strerror(errno));
}
static int map(int prot) {
  void* const at = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? -1 : munmap(at, 4096);
}
static int protect(int from, int to) {
  void* const at = mmap(NULL, 4096, from, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? -1 : mprotect(at, 4096, to);
}

static void try_all(void) {
  printf("%d: ", prctl(kGet, 0, 0, 0, 0));
  tell("read, written and executed", map(PROT_READ | PROT_WRITE | PROT_EXEC));
  tell("read and executed", map(PROT_READ | PROT_EXEC));
  tell("becomes executable", protect(PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC));
  tell("becomes writable", protect(PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE));
  tell("becomes both", protect(PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC));
  tell("stays executable", protect(PROT_READ | PROT_EXEC, PROT_EXEC));
  puts("");
  fflush(stdout);
}

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
static void* in_thread(void* numbers) {
  qsort(numbers, 1000, sizeof(int), compare);
  return NULL;
}

// Code that has not run yet: a library, a thread, a sort.
static void run_something_new(void) {
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  double (*gamma)(double) = library != NULL ? (double (*)(double))dlsym(library, "tgamma") : NULL;
  printf("library %.3f; ", gamma != NULL ? gamma(5.5) : 0.0);
  int numbers[1000];
  for (int i = 0; i < 1000; ++i) numbers[i] = i * 7919 % 1000;
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, numbers);
  pthread_join(thread, NULL);
  printf("sorted %d to %d\n", numbers[0], numbers[999]);
}

static void child(char** argv, int executes) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    if (executes) execl("/proc/self/exe", argv[0], "executed", NULL);
    try_all();
    _exit(3);
  }
  int status;
  waitpid(pid, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
}

int main(int argc, char** argv) {
  if (argc > 1) {
    try_all();
    run_something_new();
    return 0;
  }
  if (prctl(kGet, 0, 0, 0, 0) != 0) {
    puts("no PR_SET_MDWE here");
    return 0;
  }
  tell("unknown bits", prctl(kSet, 8, 0, 0, 0));
  tell("only not inherited", prctl(kSet, kNotInherited, 0, 0, 0));
  tell("another argument", prctl(kSet, kRefuse, 1, 0, 0));
  puts("");
  fflush(stdout);
  if (fork() == 0) {
    GUEST_CHECK(prctl(kSet, kRefuse | kNotInherited, 0, 0, 0) == 0);
    try_all();
    child(argv, 0);
    child(argv, 1);
    exit(0);
  }
  wait(NULL);
  tell("set", prctl(kSet, kRefuse, 0, 0, 0));
  tell("again", prctl(kSet, kRefuse, 0, 0, 0));
  tell("taken back", prctl(kSet, 0, 0, 0, 0));
  try_all();
  run_something_new();
  child(argv, 0);
  child(argv, 1);
  return 0;
}
