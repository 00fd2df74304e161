// A library with blocks of its own, for a program that loads it when it runs already (heap_sites --load).
#include <stdlib.h>

__attribute__((noinline)) long* make_loaded(long* old, long words) {
  (void)old;
  long* p = malloc((size_t)words * sizeof(long));
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

__attribute__((noinline)) long touch_loaded(volatile long* p, long words) {
  long sum = 0;
  for (long round = 0; round < 6; ++round) {
    for (long i = 0; i < words; ++i) {
      p[i] = round + i;
      sum += p[i];
    }
  }
  return sum;
}
