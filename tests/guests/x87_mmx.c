// x87 and MMX: extended precision, transcendental functions, the register stack, BCD, precision control, EMMS.
// build: dynamic -O2 -mmmx
#include <math.h>
#include <mmintrin.h>

#include "guest.h"

static __attribute__((noinline)) long double series(int n) {
  long double s = 0;
  for (int i = 1; i <= n; ++i) s += 1.0L / ((long double)i * i) - sinl((long double)i) / 1000;
  return sqrtl(s * 6);
}
static uint64_t packed_bcd(long long value) {
  unsigned char bcd[10];
  __asm__ volatile("fildll %1; fbstp %0" : "=m"(bcd) : "m"(value));
  long long back;
  __asm__ volatile("fbld %1; fistpll %0" : "=m"(back) : "m"(bcd));
  GUEST_CHECK(back == value);
  return guest_sum(GUEST_SUM, bcd, sizeof bcd);
}
static double thirds(unsigned short control) {
  unsigned short saved;
  double result;
  __asm__ volatile("fnstcw %0; fldcw %2; fld1; fldl %3; fdivrp; fstpl %1; fldcw %0"
                   : "=m"(saved), "=m"(result) : "m"(control), "m"((const double){3}));
  return result;
}

int main(void) {
  printf("%.21Lg\n", series(500));
  printf("%016llx\n", (unsigned long long)packed_bcd(-123456789012345678));
  printf("%.17g %.17g %.17g\n", thirds(0x37F), thirds(0x07F), thirds(0xB7F));
  long double a = 3, b = 4, r, m;
  __asm__("fpatan" : "=t"(r) : "0"(b), "u"(a) : "st(1)");
  __asm__("fprem1" : "=t"(m) : "0"(7.5L), "u"(b));
  printf("%.21Lg %.21Lg %.21Lg\n", r, m, ldexpl(1.5L, 100));
  __asm__("fxch; fscale; fstp %%st(1)" : "=t"(r) : "0"(a), "u"(5.0L) : "st(1)");
  printf("%.21Lg %d\n", r, (int)lrintl(-2.5L));
  __m64 v = _mm_set_pi16(1, -2, 3, -4);
  for (int i = 0; i < 100; ++i) v = _mm_add_pi16(_mm_mullo_pi16(v, _mm_set1_pi16(7)), _mm_unpacklo_pi16(v, _mm_set1_pi16((short)i)));
  const long long w = _mm_cvtm64_si64(v);
  _mm_empty();
  printf("%016llx\n", (unsigned long long)w);
  unsigned short status;
  __asm__ volatile("fnclex; fldz; fld1; fdivp; fnstsw %0; fstp %%st(0)" : "=a"(status));
  printf("status %04x\n", status & 0x3F);
  return 0;
}
