// N threads that meet in memory in every way: a line that all write, counters of their own in one line, a mutex, a condition
// variable, a barrier, and output of each. What it prints does not depend on who comes first.
// build: dynamic -O1 -pthread
// run: 2
// run: 8
#include <pthread.h>

#include "guest.h"

enum { MOST = 32, ROUNDS = 4000, TICKETS = 300 };
static int threads, done;
static uint64_t counters[MOST] __attribute__((aligned(64)));
static uint64_t everybodys __attribute__((aligned(64)));
static uint64_t guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next_one = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;
static int ticket;

static void* work(void* raw) {
  const int me = (int)(intptr_t)raw;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) {
    ++((volatile uint64_t*)counters)[me];
    if (i % 8 == 0) __atomic_fetch_add(&everybodys, 1, __ATOMIC_RELAXED);
    if (i % 64 == 0) {
      pthread_mutex_lock(&lock);
      guarded += (uint64_t)i;
      pthread_mutex_unlock(&lock);
    }
  }
  for (int i = 0; i < TICKETS / threads; ++i) {
    pthread_mutex_lock(&lock);
    while (ticket % threads != me) pthread_cond_wait(&next_one, &lock);
    ++ticket;
    pthread_cond_broadcast(&next_one);
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_lock(&lock);
  printf("%d of %d is done\n", ++done, threads);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  GUEST_CHECK(threads > 0 && threads <= MOST);
  setvbuf(stdout, NULL, _IOLBF, 0);
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  pthread_t ids[MOST];
  for (intptr_t i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, (void*)i);
  uint64_t sum = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    sum += counters[i];
  }
  printf("%lu %lu %lu %d\n", sum, everybodys, guarded, ticket);
  return 0;
}
