// CPUID, RDTSC, RDTSCP, RDPID, RDRAND: answered, consistent with themselves, time never runs backwards.
// build: dynamic -O1 -mrdpid -mrdrnd
#include <cpuid.h>
#include <x86intrin.h>

#include "guest.h"

int main(void) {
  unsigned a, b, c, d, a2, b2, c2, d2;
  __cpuid(0, a, b, c, d);
  printf("leaves %d\n", a >= 7);
  __cpuid(1, a, b, c, d);
  __cpuid(1, a2, b2, c2, d2);
  printf("stable %d sse2 %d\n", a == a2 && c == c2 && d == d2, (d >> 26) & 1);
  uint64_t last = __rdtsc();
  int backwards = 0;
  for (int i = 0; i < 1000; ++i) {
    unsigned cpu;
    const uint64_t now = i & 1 ? __rdtsc() : __rdtscp(&cpu);
    backwards += now < last;
    last = now;
  }
  printf("backwards %d\n", backwards);
  __cpuid_count(7, 0, a, b, c, d);
  if (c & (1u << 22)) printf("rdpid %d\n", _rdpid_u32() < 100000);
  __cpuid(1, a, b, c, d);
  if (c & (1u << 30)) {
    unsigned long long x = 0, y = 0;
    printf("rdrand %d\n", _rdrand64_step(&x) == 1 && _rdrand64_step(&y) == 1 && x != y);
  }
  return 0;
}
