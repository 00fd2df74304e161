/* Variables of threads: by their names, through pointers to them, in arrays, of several threads. */
#include <pthread.h>

#include "truth.h"

struct counters { long hits; int misses; short kinds[6]; struct counters *before; };

static __thread struct counters own = {1, 2, {0}, NULL};
static __thread long table[32];
static __thread struct counters *last;
static __thread unsigned char small;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

NEVER_INLINE static void count(int i)
{
  own.hits += i;
  if (i % 3 == 0) own.misses++;
  own.kinds[i % 6]++;
}
NEVER_INLINE static void spread(int n)
{
  for (int i = 0; i < n; ++i) table[i % 32] += i;
}
NEVER_INLINE static long through(struct counters *counters)
{
  long sum = counters->hits;
  for (int i = 0; i < 6; ++i) sum += counters->kinds[i];
  return sum + counters->misses;
}
NEVER_INLINE static void follow(void)
{
  last->before = &own;
  last->misses++;
  small++;
}

static void *work(void *argument)
{
  long sum = 0;
  last = &own;
  for (int i = 0; i < 400; ++i) {
    count(i);
    spread(40);
    sum += through(&own);
    follow();
  }
  pthread_mutex_lock(&printing);
  FIELD(struct counters, hits);
  FIELD(struct counters, misses);
  FIELD(struct counters, kinds);
  FIELD(struct counters, before);
  object("struct counters", &own, sizeof own, 1, "*");
  object("long int", table, sizeof *table, 32, "*");
  object("struct counters*", &last, sizeof last, 1, "*");
  object("unsigned char", &small, 1, 1, "*");
  pthread_mutex_unlock(&printing);
  return argument ? (void *)sum : NULL;
}

int main(void)
{
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &threads[i]);
  work(NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
