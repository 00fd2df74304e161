// Memory bandwidth and string functions: memcpy, memmove, memset, memcmp, strlen, strchr at sizes from 8 bytes to 1 MiB.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char a[1 << 20], b[1 << 20];

int main(void) {
  static const size_t sizes[] = {8, 24, 100, 500, 4000, 65536, 1 << 20};
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof a; ++i) a[i] = (char)(1 + i % 127);
  for (int s = 0; s < 7; ++s) {
    const size_t n = sizes[s];
    const int rounds = (int)(n < 4000 ? 3500000 : 7000000000u / n / 4);
    for (int r = 0; r < rounds; ++r) {
      memcpy(b + (r & 63), a, n - 64 * (n > 64));
      memmove(b, b + 8, n - 8);
      if (r % 16 == 0) {
        memset(b + n / 2, r, n / 4);
        sum += (uint64_t)(memcmp(a, b, n) > 0);
        b[n - 1] = 0;
        sum += strlen(b) + (strchr(b, 3) != NULL);
      }
      __asm__ volatile("" ::: "memory");
    }
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
