// build: dynamic -pthread
// One thread computes and writes a line now and then; the other sleeps, wakes up and writes that line, with stores behind which an atomic has to wait.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Alignas(64) volatile uint64_t shared[8];
static volatile int over;

static void* sleeper(void* unused) {
  (void)unused;
  while (!over) {
    const struct timespec pause = {0, 200 * 1000};
    nanosleep(&pause, NULL);
    for (int i = 0; i < 16; ++i) {
      ++shared[1];
      __atomic_exchange_n(&shared[2], i, __ATOMIC_SEQ_CST);
    }
  }
  return NULL;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, sleeper, NULL) != 0) return 1;
  uint64_t x = 1;
  for (int i = 0; i < 3000; ++i) {
    for (int j = 0; j < 1000; ++j) x = x * 6364136223846793005u + 1442695040888963407u;
    shared[0] += x;
  }
  over = 1;
  pthread_join(thread, NULL);
  printf("%d\n", x != 0);
  return 0;
}
