// Ordinary pthreads: mutexes, condition variables, read-write locks, barriers, once, a bounded queue, join values.
// build: dynamic -O2 -pthread
#include <pthread.h>

#include "guest.h"

enum { ITEMS = 2000, SLOTS = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int queue[SLOTS], first, used, produced;
static long counter;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static long table[2];
static pthread_barrier_t barrier;

static void initialise(void) { ++initialised; }

static void* producer(void* unused) {
  (void)unused;
  pthread_once(&once, initialise);
  for (;;) {
    pthread_mutex_lock(&lock);
    while (used == SLOTS) pthread_cond_wait(&not_full, &lock);
    const int item = ++produced;
    queue[(first + used++) % SLOTS] = item <= ITEMS ? item : 0;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
    if (item >= ITEMS) return NULL;
  }
}
static void* consumer(void* unused) {
  (void)unused;
  pthread_once(&once, initialise);
  long sum = 0;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (used == 0) pthread_cond_wait(&not_empty, &lock);
    const int item = queue[first];
    if (item != 0) {
      first = (first + 1) % SLOTS;
      --used;
      pthread_cond_signal(&not_full);
    } else {
      pthread_cond_broadcast(&not_empty);  // the end stays in the queue for the others
    }
    pthread_mutex_unlock(&lock);
    if (item == 0 || item == ITEMS) {
      pthread_mutex_lock(&lock);
      queue[first] = 0;
      used = 1;
      pthread_cond_broadcast(&not_empty);
      pthread_cond_broadcast(&not_full);
      pthread_mutex_unlock(&lock);
      return (void*)(sum + item);
    }
    sum += item;
  }
}
static void* adder(void* unused) {
  (void)unused;
  for (int i = 0; i < 5000; ++i) {
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    if (i % 50 == 0) {
      pthread_rwlock_wrlock(&table_lock);
      table[0] += 1;
      table[1] -= 1;
      pthread_rwlock_unlock(&table_lock);
    } else {
      pthread_rwlock_rdlock(&table_lock);
      GUEST_CHECK(table[0] + table[1] == 0);
      pthread_rwlock_unlock(&table_lock);
    }
    if (i % 1000 == 0) pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(void) {
  pthread_t p, c[3], a[4];
  pthread_create(&p, NULL, producer, NULL);
  for (int i = 0; i < 3; ++i) pthread_create(&c[i], NULL, consumer, NULL);
  long total = 0;
  pthread_join(p, NULL);
  for (int i = 0; i < 3; ++i) {
    void* sum;
    pthread_join(c[i], &sum);
    total += (long)sum;
  }
  printf("consumed %ld, initialised %d\n", total, initialised);
  pthread_barrier_init(&barrier, NULL, 4);
  for (int i = 0; i < 4; ++i) pthread_create(&a[i], NULL, adder, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(a[i], NULL);
  printf("counter %ld table %ld %ld\n", counter, table[0], table[1]);
  return 0;
}
