// Two hundred threads alive at once, each with its own TLS and stack, started in waves and joined out of order.
// build: dynamic -O1 -pthread
#include <pthread.h>

#include "guest.h"

enum { THREADS = 200 };
static __thread uint64_t local[32];
static pthread_barrier_t all_alive;
static long shared;

static void* work(void* raw) {
  const uint64_t me = (uint64_t)(uintptr_t)raw;
  for (int i = 0; i < 32; ++i) local[i] = me * 1000 + (uint64_t)i;
  pthread_barrier_wait(&all_alive);
  uint64_t sum = 0;
  for (int i = 0; i < 32; ++i) sum += local[i];
  char* text = malloc(100 + me);
  snprintf(text, 100, "%llu", (unsigned long long)sum);
  __atomic_fetch_add(&shared, (long)strlen(text), __ATOMIC_SEQ_CST);
  free(text);
  pthread_barrier_wait(&all_alive);
  return (void*)(uintptr_t)sum;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_alive, NULL, THREADS);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (uintptr_t i = 0; i < THREADS; ++i) {
    GUEST_CHECK(pthread_create(&threads[i], &attributes, work, (void*)i) == 0);
  }
  uint64_t total = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* sum;
    pthread_join(threads[(i * 77) % THREADS], &sum);
    total += (uint64_t)(uintptr_t)sum;
  }
  printf("total %llu digits %ld\n", (unsigned long long)total, shared);
  return 0;
}
