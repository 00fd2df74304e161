/* Three kinds of work, one after the other, each with a character of its own: whole numbers without memory, a walk through
 * memory, and branches that nothing can foresee. A program to draw curves of:
 *   gcc -O1 -g -static -Iinclude -o three_phases examples/three_phases.c
 *   zeroskid stat -I 100000i -o windows.csv --format csv -e instructions,branches ./three_phases
 *   zeroskid plot windows.csv */
#include <stdint.h>
#include <stdio.h>

#include "zeroskid/region.h"

enum { kIntegerRounds = 400000, kCells = 1 << 14, kWalks = 40, kBranchRounds = 130000 };

static uint32_t cells[kCells];

/* Shifts and multiplications, and a branch a round. */
static __attribute__((noinline)) uint64_t integer_work(uint64_t x) {
  for (int i = 0; i < kIntegerRounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    x = x * 6364136223846793005u + 1442695040888963407u;
  }
  return x;
}

/* Two loads and a store for every cell. */
static __attribute__((noinline)) uint64_t memory_work(uint64_t x) {
  for (int walk = 0; walk < kWalks; ++walk) {
    for (int i = 1; i < kCells; ++i) cells[i] += cells[i - 1] + (uint32_t)x;
  }
  return x + cells[kCells - 1];
}

/* Decisions on random bits: many branches, taken half of the time. */
static __attribute__((noinline)) uint64_t branchy_work(uint64_t x) {
  uint64_t sum = 0;
  for (int i = 0; i < kBranchRounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    for (int bit = 0; bit < 5; ++bit) {
      if (x >> bit & 1) {
        sum += x;
        __asm__ volatile(""); /* or the compiler would decide without a branch */
      }
    }
  }
  return sum;
}

int main(void) {
  ZS_REGION_BEGIN("integer");
  uint64_t x = integer_work(88172645463325252u);
  ZS_REGION_END("integer");
  ZS_REGION_BEGIN("memory");
  x = memory_work(x);
  ZS_REGION_END("memory");
  ZS_REGION_BEGIN("branchy");
  x = branchy_work(x | 1);
  ZS_REGION_END("branchy");
  printf("%016llx\n", (unsigned long long)x);
  return 0;
}
