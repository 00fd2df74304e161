/* Control: four threads read the same table, which nobody writes after they have begun. Its lines stay where they are.
   cc -O1 -g -pthread -o read_only examples/sharing/read_only.c */
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

enum { kThreads = 4, kTimes = 4000, kEntries = 16 };
static alignas(64) volatile const long table[kEntries] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

static void* look_up(void* result) {
  long sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    for (int entry = 0; entry < kEntries; ++entry) sum += table[entry];
  }
  *(long*)result = sum;
  return 0;
}

int main(void) {
  pthread_t threads[kThreads];
  long sums[kThreads][8];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], 0, look_up, sums[i]) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], 0);
  printf("%ld\n", sums[0][0] + sums[1][0] + sums[2][0] + sums[3][0]);
  return 0;
}
