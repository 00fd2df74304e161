/* Writes one array and reads another, so many bytes further:  address_alias DISTANCE
   Compile it with: cc -O1 -g -o address_alias examples/address_alias/address_alias.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWords = 256, kRounds = 400 };
static char bytes[1 << 16] __attribute__((aligned(4096)));

static __attribute__((noinline)) uint64_t rounds(volatile uint64_t* to, const volatile uint64_t* from) {
  uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kWords; ++i) {
      to[i] = (uint64_t)i;
      sum += from[i];
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  const unsigned long distance = argc > 1 ? strtoul(argv[1], 0, 10) : 4096;
  if (distance % 8 != 0 || distance > sizeof bytes - kWords * 8) return 1;
  printf("%llu\n", (unsigned long long)rounds((uint64_t*)bytes, (uint64_t*)(bytes + distance)));
  return 0;
}
