/* Control: two threads add to the same counter. It changes hands because they mean it, and no layout helps.
   cc -O1 -g -pthread -o true_sharing examples/sharing/true_sharing.c */
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kTimes = 20000 };
static alignas(64) atomic_long total;

static void* add(void* unused) {
  for (int i = 0; i < kTimes; ++i) atomic_fetch_add(&total, 1);
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, 0, add, 0) != 0) return 1;
  add(0);
  pthread_join(thread, 0);
  printf("%ld\n", atomic_load(&total));
  return 0;
}
