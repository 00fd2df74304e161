// Work of several kinds in turn, as often as the argument says (default 1): sums over a table that fits in the second level, decisions
// that follow from random numbers, multiplications that wait for each other. A round takes about 400,000 instructions, and no two
// rounds do the same.
// build: static
#include "guest.h"

static uint32_t table[48 * 1024];

static uint64_t sums(uint64_t* state) {
  uint64_t sum = 0;
  for (int i = 0; i < 12000; ++i) sum += table[guest_random(state) % (sizeof table / sizeof *table)]++;
  return sum;
}

static uint64_t decisions(uint64_t* state) {
  uint64_t odd = 0;
  for (int i = 0; i < 9000; ++i) {
    const uint64_t number = guest_random(state);
    if (number % 8 < 3)
      odd = odd * 5 + number;
    else
      odd ^= number << 3;
    __asm__ volatile("" : "+r"(odd));
  }
  return odd;
}

static uint64_t products(uint64_t* state) {
  uint64_t product = guest_random(state) | 1;
  for (int i = 0; i < 20000 + (int)(*state % 10000); ++i) {
    product *= 0x5851f42d4c957f2du;
    __asm__ volatile("" : "+r"(product));
  }
  return product;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  uint64_t state = 1, sum = GUEST_SUM;
  for (int i = 0; i < rounds; ++i) {
    const uint64_t results[] = {sums(&state), decisions(&state), products(&state)};
    sum = guest_sum(sum, results, sizeof results);
  }
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}
