/* Two fields of a struct: one thread counts, the other reads a setting that nobody writes. With -DAPART the setting has a line of its own.
   cc -O1 -g -pthread -o struct_fields examples/sharing/struct_fields.c */
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

#ifdef APART
#define OWN_LINE alignas(64)
#else
#define OWN_LINE
#endif

enum { kTimes = 200000 };
static struct shared {
  alignas(64) volatile long counter;
  OWN_LINE volatile long setting;
} shared = {0, 1};

static void* count(void* unused) {
  for (int i = 0; i < kTimes; ++i) ++shared.counter;
  return unused;
}

static __attribute__((noinline)) long read_often(void) {
  long sum = 0;
  for (int i = 0; i < kTimes; ++i) sum += shared.setting;
  return sum;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, 0, count, 0) != 0) return 1;
  const long sum = read_often();
  pthread_join(thread, 0);
  printf("%ld\n", sum);
  return 0;
}
