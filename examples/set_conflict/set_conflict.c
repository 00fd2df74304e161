/* Sixteen words read over and over, so many bytes apart:  set_conflict STRIDE
   Compile it with: cc -O1 -g -o set_conflict examples/set_conflict/set_conflict.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWords = 16, kRounds = 20000 };
static char bytes[1 << 20] __attribute__((aligned(4096)));

static __attribute__((noinline)) uint64_t rounds(const char* from, unsigned long stride) {
  uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (unsigned long i = 0; i < kWords; ++i) sum += *(const volatile uint64_t*)(from + i * stride);
  }
  return sum;
}

int main(int argc, char** argv) {
  const unsigned long stride = argc > 1 ? strtoul(argv[1], 0, 10) : 4096;
  if (stride > sizeof bytes / kWords) return 1;
  printf("%llu\n", (unsigned long long)rounds(bytes, stride));
  return 0;
}
