// Three loads, of which one misses: load1 walks through 64 MiB, a new page with each step; load2 and load3 always find
// their data in the first level. load1 and load2 return at once. load3 goes on with arithmetic for some 500
// instructions, so an interrupt that is late finds the program there.
// cc -O1 -g -o three_loads examples/three_loads/three_loads.c
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 64 << 20, kStep = 4096 + 64, kRounds = 20000 };

static volatile uint64_t small[2] = {3, 5};

__attribute__((noinline)) static uint64_t load1(const volatile unsigned char* at) { return *at; }

__attribute__((noinline)) static uint64_t load2(void) { return small[0]; }

__attribute__((noinline)) static uint64_t load3(uint64_t value) {
  value += small[1];
  for (int i = 0; i < 100; ++i) value = value * 0x9E3779B97F4A7C15u ^ value >> 29;
  return value;
}

int main(void) {
  unsigned char* const large = calloc(kBytes, 1);
  uint64_t sum = 0, at = 0;
  for (int i = 0; i < kRounds; ++i) {
    sum += load1(large + at);
    at = (at + kStep) % kBytes;
    sum += load2();
    sum = load3(sum);
  }
  printf("%llx\n", (unsigned long long)sum);
  free(large);
  return 0;
}
