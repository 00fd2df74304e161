/* Reads eight bytes that were just written, by one store or by two:  store_forward whole|halves
   Compile it with: cc -O1 -g -o store_forward examples/store_forward/store_forward.c */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kRounds = 100000 };
static union {
  volatile uint64_t whole;
  volatile uint32_t halves[2];
} word;

static __attribute__((noinline)) uint64_t by_whole(void) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kRounds; ++i) {
    word.whole = i;
    sum += word.whole;
  }
  return sum;
}

static __attribute__((noinline)) uint64_t by_halves(void) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kRounds; ++i) {
    word.halves[0] = i;
    word.halves[1] = 0;
    sum += word.whole;
  }
  return sum;
}

int main(int argc, char** argv) {
  const int halves = argc > 1 && strcmp(argv[1], "halves") == 0;
  printf("%llu\n", (unsigned long long)(halves ? by_halves() : by_whole()));
  return 0;
}
