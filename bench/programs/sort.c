// Sorting: an own quicksort with unpredictable branches, then the C library's qsort through a comparison function.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1500000 };
static uint32_t numbers[N], copy[N];

static void quicksort(uint32_t* first, uint32_t* last) {
  while (last - first > 16) {
    const uint32_t pivot = first[(last - first) / 2];
    uint32_t *low = first, *high = last - 1;
    while (low <= high) {
      while (*low < pivot) ++low;
      while (*high > pivot) --high;
      if (low > high) break;
      const uint32_t swap = *low;
      *low++ = *high;
      *high-- = swap;
    }
    quicksort(first, high + 1);
    first = low;
  }
  for (uint32_t* i = first + 1; i < last; ++i) {
    const uint32_t value = *i;
    uint32_t* k = i;
    for (; k > first && k[-1] > value; --k) *k = k[-1];
    *k = value;
  }
}
static int compare(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

int main(void) {
  uint64_t random = 7;
  for (int i = 0; i < N; ++i) numbers[i] = (uint32_t)((random = random * 6364136223846793005u + 1) >> 32);
  memcpy(copy, numbers, sizeof copy);
  quicksort(numbers, numbers + N);
  qsort(copy, N, sizeof *copy, compare);
  printf("%u %u %d\n", numbers[1000], numbers[N / 2], memcmp(numbers, copy, sizeof copy));
  return 0;
}
