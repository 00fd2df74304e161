// Four threads with counters of their own in one line, which also move and fill with REP string instructions. What it prints does
// not depend on who comes first.
// build: dynamic -O1 -pthread
#include <pthread.h>

#include "guest.h"

enum { THREADS = 4, ROUNDS = 4000 };
static uint64_t counters[THREADS] __attribute__((aligned(64)));
static char from[THREADS][4096], to[THREADS][4096];
static pthread_barrier_t start;

static void* work(void* raw) {
  const int me = (int)(intptr_t)raw;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) {
    ++((volatile uint64_t*)counters)[me];
    if (i % 16 != me) continue;
    void *target = to[me], *source = from[(me + 1) % THREADS];
    uint64_t count = 100 + (uint64_t)(i % 200);
    asm volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(count)::"memory");
    target = to[me];
    count = 30;
    asm volatile("rep stosq" : "+D"(target), "+c"(count) : "a"(i) : "memory");
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&start, NULL, THREADS);
  pthread_t ids[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&ids[i], NULL, work, (void*)i);
  uint64_t sum = 0;
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(ids[i], NULL);
    sum += counters[i];
  }
  printf("%lu\n", sum);
  return 0;
}
