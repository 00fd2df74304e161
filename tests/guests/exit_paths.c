// Ways to end a single-threaded program: atexit and constructor order, _exit, quick_exit, return, exit_group, abort with
// a handler, SIGPIPE by writing to nobody.
// build: dynamic -O1
// run: return
// run: exit
// run: _exit
// run: quick_exit
// run: raw
// run: abort
// run: pipe
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

__attribute__((constructor(101))) static void first(void) { puts("constructor 101"); }
__attribute__((constructor(102))) static void second(void) { puts("constructor 102"); }
__attribute__((destructor(101))) static void last(void) { puts("destructor 101"); }
static void one(void) { puts("atexit one"); }
static void two(void) {
  puts("atexit two");
  atexit(one);
}
static void quick(void) {
  puts("at_quick_exit");
  fflush(stdout);
}
static void on_abort(int signal_number) {
  printf("handler of %d\n", signal_number);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  prctl(PR_SET_DUMPABLE, 0);
  atexit(one);
  atexit(two);
  at_quick_exit(quick);
  fflush(stdout);
  if (strcmp(how, "exit") == 0) exit(256 + 13);
  if (strcmp(how, "_exit") == 0) _exit(14);
  if (strcmp(how, "quick_exit") == 0) quick_exit(15);
  if (strcmp(how, "raw") == 0) syscall(SYS_exit, 16);
  if (strcmp(how, "abort") == 0) {
    signal(SIGABRT, on_abort);
    abort();
  }
  if (strcmp(how, "pipe") == 0) {
    int ends[2];
    GUEST_CHECK(pipe(ends) == 0);
    close(ends[0]);
    (void)!write(ends[1], "x", 1);
  }
  return 12;
}
