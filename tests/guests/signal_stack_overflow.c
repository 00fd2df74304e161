// Endless recursion, caught on an alternate stack, left by siglongjmp; done three times over.
// build: dynamic -O1
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

#include "guest.h"

static sigjmp_buf out;
static char* stack_bottom;
static volatile int on_alternate;
static char alternate[65536];

static void handler(int signal, siginfo_t* info, void* context) {
  (void)context;
  char here;
  on_alternate = &here >= alternate && &here < alternate + sizeof alternate;
  GUEST_CHECK(signal == SIGSEGV && (char*)info->si_addr < stack_bottom);
  siglongjmp(out, 1);
}

static __attribute__((noinline)) int dive(int n) {
  volatile char frame[1024];
  frame[n & 1023] = (char)n;
  if (n == 1 << 30) return 0;
  return dive(n + 1) + frame[n & 1023];
}

int main(void) {
  char here;
  stack_bottom = &here;
  struct rlimit limit = {1 << 20, RLIM_INFINITY};
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_STACK, &limit);
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  GUEST_CHECK(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  volatile int times = 0;
  if (sigsetjmp(out, 1) != 0) {
    ++times;
    printf("overflow caught, on the alternate stack: %d\n", on_alternate);
  }
  if (times < 3) dive(0);
  stack_t now;
  sigaltstack(NULL, &now);
  printf("times %d flags %d\n", times, now.ss_flags);
  return 0;
}
