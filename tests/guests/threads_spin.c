// Busy waiting, with PAUSE and without: a scheduler that runs one thread at a time must let the other one through.
// build: dynamic -O1 -pthread
#include <pthread.h>
#include <sched.h>

#include "guest.h"

static volatile int turn, lock;
static long shared;

static void* other(void* unused) {
  (void)unused;
  for (int i = 0; i < 40; ++i) {
    while (turn != 1) __builtin_ia32_pause();
    turn = 0;
  }
  for (int i = 0; i < 5; ++i) {
    while (turn != 1) continue;  // no hint at all
    turn = 0;
  }
  for (int i = 0; i < 2000; ++i) {
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    shared = shared + 1;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  }
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  for (int i = 0; i < 40; ++i) {
    while (turn != 0) __builtin_ia32_pause();
    turn = 1;
  }
  for (int i = 0; i < 5; ++i) {
    while (turn != 0) continue;
    turn = 1;
  }
  for (int i = 0; i < 2000; ++i) {
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    shared = shared + 1;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  }
  pthread_join(thread, NULL);
  printf("shared %ld\n", shared);
  return 0;
}
