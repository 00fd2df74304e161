// The cost of a region: sorts short rows again and again, each in a region of its own; with -DZS_REGION_DISABLE without.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "zeroskid/region.h"

enum { kRow = 16 };

static uint64_t state = 12345;
static uint32_t next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

static void sort_row(uint32_t* row) {
  for (int i = 1; i < kRow; ++i) {
    const uint32_t value = row[i];
    int at = i;
    for (; at > 0 && row[at - 1] > value; --at) row[at] = row[at - 1];
    row[at] = value;
  }
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 1000000;
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    uint32_t row[kRow];
    for (int i = 0; i < kRow; ++i) row[i] = next();
    ZS_REGION_BEGIN("sort");
    sort_row(row);
    ZS_REGION_END("sort");
    sum += row[kRow / 2];
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
