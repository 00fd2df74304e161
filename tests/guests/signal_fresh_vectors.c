// A handler begins with the floating-point state of a new program, whatever the interrupted code had set, and what it
// sets itself is gone behind it.
// build: dynamic -O1
#include <fenv.h>
#include <signal.h>
#include <xmmintrin.h>
#include "guest.h"
static void show(const char* where) {
  unsigned short control;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  uint64_t vector[2];
  __asm__ volatile("movdqu %%xmm15, %0" : "=m"(vector));
  printf("%s: MXCSR %x, x87 %x, xmm15 %lx\n", where, _mm_getcsr() & 0xFFC0, control, vector[0]);
}
static void handler(int s) { (void)s; show("handler"); _mm_setcsr(0x1F80 | 0x2000); __asm__ volatile("pcmpeqd %%xmm15, %%xmm15" ::: "xmm15"); }
int main(void) {
  signal(SIGUSR1, handler);
  signal(SIGSEGV, handler);
  show("begin");
  _mm_setcsr(_mm_getcsr() | 0x8040 | 0x6000);
  const unsigned short control = 0xC7F;
  __asm__ volatile("fldcw %0" ::"m"(control));
  const uint64_t vector[2] = {0x1234, 5};
  __asm__ volatile("movdqu %0, %%xmm15" ::"m"(vector) : "xmm15");
  raise(SIGUSR1);
  show("behind");
  return 0;
}
