// FXSAVE, XSAVE, XSAVEC, XSAVEOPT and their restores: all vector state goes out and comes back, XGETBV answers.
// build: static -O1 -mxsave -mxsavec -mxsaveopt -mfxsr
#include <cpuid.h>
#include <immintrin.h>

#include "guest.h"

static unsigned char area[16384] __attribute__((aligned(64)));

// Fills xmm0-15 and st0-3, saves with `how`, destroys, restores, and sums what came back.
static __attribute__((noinline)) uint64_t round_trip(int how, uint64_t seed) {
  uint64_t before[32], after[32];
  for (int i = 0; i < 32; ++i) before[i] = guest_random(&seed);
  memset(area, 0, sizeof area);
  const unsigned lo = 7, hi = 0;
  const double pi = 3.141592653589793;
  double back = 0;
#define LOAD(n) "movdqu " #n "*16(%[in]), %%xmm" #n "\n"
#define STORE(n) "movdqu %%xmm" #n ", " #n "*16(%[out])\n"
#define CLEAR(n) "pxor %%xmm" #n ", %%xmm" #n "\n"
#define ALL(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define TRIP(save, restore)                                                                                         \
  __asm__ volatile(ALL(LOAD) "fldl %[pi]\n" save "\n" ALL(CLEAR) "fninit\n" restore "\n" ALL(STORE) "fstpl %[back]\n" \
                   : [back] "=m"(back)                                                                              \
                   : [in] "r"(before), [out] "r"(after), [area] "r"(area), [pi] "m"(pi), "a"(lo), "d"(hi)           \
                   : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",       \
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st")
  switch (how) {
    case 0: TRIP("fxsave64 (%[area])", "fxrstor64 (%[area])"); break;
    case 1: TRIP("xsave64 (%[area])", "xrstor64 (%[area])"); break;
    case 2: TRIP("xsavec64 (%[area])", "xrstor64 (%[area])"); break;
    default: TRIP("xsaveopt64 (%[area])", "xrstor64 (%[area])"); break;
  }
  GUEST_CHECK(memcmp(before, after, sizeof before) == 0 && back == pi);
  return guest_sum(GUEST_SUM, after, sizeof after);
}

int main(void) {
  unsigned a, b, c, d;
  __cpuid_count(1, 0, a, b, c, d);
  const int ways = (c & (1u << 27)) ? 4 : 1;  // OSXSAVE
  for (int how = 0; how < ways; ++how) {
    for (uint64_t seed = 1; seed < 40; ++seed) round_trip(how, seed);
    printf("way %d: %016llx\n", how, (unsigned long long)round_trip(how, 99));
  }
  if (ways > 1) {
    printf("xcr0 x87+sse %llu\n", (unsigned long long)(_xgetbv(0) & 3));
    __cpuid_count(0xD, 0, a, b, c, d);
    printf("area fits %d\n", b <= sizeof area);
  }
  return 0;
}
