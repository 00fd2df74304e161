/* Adds the numbers above the middle, of numbers in random order or sorted:  sorted_branch random|sorted
   Compile it with: cc -O1 -g -o sorted_branch examples/sorted_branch/sorted_branch.c */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kNumbers = 32768, kRounds = 10 };
static uint8_t numbers[kNumbers];

static __attribute__((noinline)) uint64_t sum_of_large(void) {
  uint64_t sum = 0;
  for (int i = 0; i < kNumbers; ++i) {
    if (numbers[i] >= 128) {
      sum += numbers[i];
      __asm__ volatile("" : "+r"(sum)); /* a branch, not a conditional move */
    }
  }
  return sum;
}

/* By counting, which decides nothing by the numbers. */
static void sort(void) {
  static int count[256];
  for (int i = 0; i < kNumbers; ++i) ++count[numbers[i]];
  for (int value = 0, i = 0; value < 256; ++value) {
    memset(numbers + i, value, (size_t)count[value]);
    i += count[value];
  }
}

int main(int argc, char** argv) {
  uint64_t random = 1, sum = 0;
  for (int i = 0; i < kNumbers; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    numbers[i] = (uint8_t)(random >> 40);
  }
  if (argc > 1 && strcmp(argv[1], "sorted") == 0) sort();
  for (int round = 0; round < kRounds; ++round) sum += sum_of_large();
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
