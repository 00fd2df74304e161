/* An array with a counter for each of four threads. With -DAPART each counter has a line of its own.
   cc -O1 -g -pthread -o counter_array examples/sharing/counter_array.c */
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

#ifdef APART
#define OWN_LINE alignas(64)
#else
#define OWN_LINE
#endif

enum { kThreads = 4, kTimes = 50000 };
struct counter {
  OWN_LINE volatile long value;
};
static alignas(64) struct counter counters[kThreads];

static void* count(void* which) {
  struct counter* const mine = which;
  for (int i = 0; i < kTimes; ++i) ++mine->value;
  return 0;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], 0, count, &counters[i]) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], 0);
  long sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += counters[i].value;
  printf("%ld\n", sum);
  return 0;
}
