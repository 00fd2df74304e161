// A program linked at an odd fixed address below 2 GiB; every pointer to its own data is a 32-bit constant.
// build: dynamic-fixed -Wl,-Ttext-segment=0x13570000
#include "guest.h"

static uint64_t table[64];
static int one(int x) { return x + 1; }
static int two(int x) { return x * 3; }
static int (*const functions[])(int) = {one, two};

int main(void) {
  int v = 1;
  for (int i = 0; i < 1000; ++i) {
    v = functions[(v >> 3) & 1](v) & 0xFFFFFF;
    table[i & 63] += (uint64_t)v;
  }
  printf("%d %016llx at %d\n", v, (unsigned long long)guest_sum(GUEST_SUM, table, sizeof table),
         (uintptr_t)&main >= 0x13570000 && (uintptr_t)&main < 0x14000000);
  return 0;
}
