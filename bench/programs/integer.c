// Integer arithmetic and predictable branches: a prime sieve and Collatz lengths.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned char composite[2000000];

int main(void) {
  unsigned primes = 0;
  for (unsigned round = 0; round < 12; ++round) {
    memset(composite, 0, sizeof composite);
    primes = 0;
    for (uint32_t i = 2; i < sizeof composite; ++i) {
      if (composite[i]) continue;
      ++primes;
      for (uint64_t k = (uint64_t)i * i; k < sizeof composite; k += i) composite[k] = 1;
    }
  }
  uint32_t longest = 0, at = 0;
  for (uint32_t start = 1; start < 1200000; ++start) {
    uint32_t length = 0;
    for (uint64_t n = start; n != 1; ++length) n = n & 1 ? 3 * n + 1 : n / 2;
    if (length > longest) longest = length, at = start;
  }
  printf("%u primes, longest %u at %u\n", primes, longest, at);
  return 0;
}
