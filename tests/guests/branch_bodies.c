// The same function alone, in threads, in children, in handlers of signals: its branches are the same each time, but
// for who takes them. All of it lies in one section, so that a reader of branches can tell it from libc.
// build: static -pthread
// run: alone 0
// run: alone 1
// run: alone 2
// run: alone 3
// run: threads
// run: children
// run: signals
// run: where
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define BODY __attribute__((section("branch_bodies"), noinline, noclone))
enum { kBodies = 4 };

BODY static uint32_t half(uint32_t x) { return x / 2; }
BODY static uint32_t triple(uint32_t x) { return 3 * x + 1; }
BODY static uint32_t deep(uint32_t n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
static uint32_t (*volatile const kSteps[])(uint32_t) = {half, triple};

/// Conditional and indirect jumps, calls of all kinds, returns, a repeated instruction.
BODY static uint32_t body(uint32_t seed) {
  static const void* const kPlaces[] = {&&even, &&odd, &&mixed};
  uint32_t x = 27 + seed, steps = 0, sum = deep(6 + seed);
  while (x != 1) {
    x = kSteps[x & 1](x);
    ++steps;
    goto* kPlaces[x % 3];
  even:
    sum += x;
    continue;
  odd:
    if (steps % 4 == seed % 4) sum ^= x;
    continue;
  mixed:
    sum += deep(steps % 5);
  }
  unsigned char bytes[64];
  void* at = bytes;
  unsigned long count = sizeof bytes - seed;
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(sum) : "memory");
  return sum + steps + bytes[seed];
}

extern const char __start_branch_bodies[], __stop_branch_bodies[];

static volatile uint32_t results[kBodies];
static volatile char* page;
static volatile sig_atomic_t handled;

static void* in_thread(void* number) {
  const uint32_t seed = (uint32_t)(uintptr_t)number;
  results[seed] = body(seed);
  return NULL;
}

BODY static void on_signal(int signal) {
  if (signal == SIGSEGV)
    mprotect((void*)page, 4096, PROT_READ | PROT_WRITE);
  else
    results[handled % kBodies] += body((uint32_t)handled % kBodies);
  if (signal == SIGUSR1 && handled++ % 2 == 0) raise(SIGUSR2);  // in the handler
}

/// Signals that are asked for, signals in handlers, and faults that are mended.
BODY static void take_signals(void) {
  for (int i = 0; i < 8; ++i) {
    raise(i % 4 == 3 ? SIGUSR2 : SIGUSR1);
    if (i % 2 == 0) mprotect((void*)page, 4096, PROT_NONE);
    page[i] = (char)(page[i] + i);  // the load faults
    results[0] += body(0);
  }
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "alone";
  if (!strcmp(how, "where")) {
    printf("%p %p\n", (const void*)__start_branch_bodies, (const void*)__stop_branch_bodies);
    return 0;
  }
  if (!strcmp(how, "alone")) {
    const uint32_t seed = argc > 2 ? (uint32_t)atoi(argv[2]) % kBodies : 0;
    results[seed] = body(seed);
  } else if (!strcmp(how, "threads")) {
    pthread_t threads[kBodies];
    for (uintptr_t i = 0; i < kBodies; ++i) pthread_create(&threads[i], NULL, in_thread, (void*)i);
    for (int i = 0; i < kBodies; ++i) pthread_join(threads[i], NULL);
  } else if (!strcmp(how, "children")) {
    for (uint32_t i = 0; i < kBodies; ++i) {
      if (fork() == 0) _exit((int)(body(i) & 0x7F));
      int status = 0;
      wait(&status);
      results[i] = (uint32_t)WEXITSTATUS(status);
    }
  } else {
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    take_signals();
  }
  for (int i = 0; i < kBodies; ++i) printf("%u\n", results[i]);
  return 0;
}
