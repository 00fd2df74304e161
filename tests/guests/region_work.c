// Two regions in turn, of which one waits for its lines and the other only computes.
// build: static
// run: 3
#include <stdio.h>
#include <stdlib.h>
#include <zeroskid/region.h>

#define WORDS (1u << 20)
static unsigned table[WORDS];

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  unsigned sum = 1;
  for (int round = 0; round < rounds; ++round) {
    ZS_REGION_BEGIN("walk");
    for (int i = 0; i < 5000; ++i) {
      sum = sum * 1103515245u + 12345;
      table[(sum >> 8) & (WORDS - 1)] += sum;
    }
    ZS_REGION_END("walk");
    ZS_REGION_BEGIN("add");
    for (unsigned i = 0; i < 12000; ++i) {
      sum += i ^ (sum >> 3);
      __asm__ volatile("" : "+r"(sum));
    }
    ZS_REGION_END("add");
  }
  printf("%u\n", sum);
  return 0;
}
