// MXCSR and the x87 control word: rounding modes, flush-to-zero, denormals-are-zero and sticky exception flags must
// survive everything the tool does between two instructions, and a tool's own arithmetic must not set them.
// build: dynamic -O1 -frounding-math
#include <fenv.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "guest.h"

static volatile double one = 1, three = 3, tiny = 1e-310, huge = 1e308;

static __attribute__((noinline)) void show(const char* what) {
  const double third = one / three;
  const double denormal = tiny / 2;
  printf("%-12s %.20g %g %.20g mxcsr=%04x\n", what, third, denormal, (double)(float)(one / three), _mm_getcsr() & 0xFFC0);
}

int main(void) {
  const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  for (int i = 0; i < 4; ++i) {
    fesetround(modes[i]);
    getppid();
    show("rounding");
  }
  fesetround(FE_TONEAREST);
  _mm_setcsr(_mm_getcsr() | 0x8000);
  show("ftz");
  _mm_setcsr(_mm_getcsr() | 0x8040);
  show("ftz daz");
  _mm_setcsr(0x1F80);
  feclearexcept(FE_ALL_EXCEPT);
  getppid();
  GUEST_CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
  volatile double r = huge * huge;
  printf("overflow %d inexact %d divide %d\n", !!fetestexcept(FE_OVERFLOW), !!fetestexcept(FE_INEXACT), !!fetestexcept(FE_DIVBYZERO));
  r = one / (r - r);
  getppid();
  printf("invalid %d\n", !!fetestexcept(FE_INVALID));
  return 0;
}
