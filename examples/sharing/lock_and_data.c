/* A lock beside a word that is seldom written under it and often read without it. Two threads take the lock, a third reads. With -DAPART
   the word has a line of its own: what is left is that the two meet at the lock, and that the reader sees each new value.
   cc -O1 -g -pthread -o lock_and_data examples/sharing/lock_and_data.c */
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>

#ifdef APART
#define OWN_LINE alignas(64)
#else
#define OWN_LINE
#endif

enum { kTimes = 20000, kReads = 400000, kSeldom = 64 };
static struct guarded {
  alignas(64) atomic_int lock;
  OWN_LINE atomic_long value;
} guarded;

static __attribute__((noinline)) long think(long seed) {
  for (int i = 0; i < 40; ++i) seed = seed * 3 + 1;
  return seed;
}

static void* update(void* unused) {
  long seed = 1;
  for (int i = 0; i < kTimes; ++i) {
    seed = think(seed);
    if (atomic_exchange_explicit(&guarded.lock, 1, memory_order_acquire) != 0) continue; /* the other one has it */
    if (i % kSeldom == 0) atomic_store_explicit(&guarded.value, seed, memory_order_relaxed);
    atomic_store_explicit(&guarded.lock, 0, memory_order_release);
  }
  return unused;
}

static __attribute__((noinline)) long read_often(void) {
  long sum = 0;
  for (int i = 0; i < kReads; ++i) sum += atomic_load_explicit(&guarded.value, memory_order_relaxed);
  return sum;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], 0, update, 0) != 0) return 1;
  }
  const long sum = read_often();
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  return sum == 1;
}
