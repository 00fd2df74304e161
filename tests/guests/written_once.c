// Writes a word of each of 65,536 lines, more than a second-level cache holds, with as many instructions, each of which runs once,
// and then reads one in each, in an order that no prefetcher finds.
// build: static
#include "guest.h"

enum { kLines = 65536, kWordsPerLine = 8 };

static uint64_t data[kLines * kWordsPerLine] __attribute__((aligned(4096)));

int main(void) {
  __asm__ volatile(
      ".set at, 0\n"
      ".rept 65536\n"
      "mov %[one], at(%[data])\n"
      ".set at, at + 64\n"
      ".endr\n"
      :
      : [data] "r"(data), [one] "r"((uint64_t)1)
      : "memory");
  uint64_t line = 1, sum = 0;
  for (int i = 0; i < kLines; ++i) {
    line = (line * 1664525 + 1013904223) % kLines;  // each once
    sum += data[line * kWordsPerLine];
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
