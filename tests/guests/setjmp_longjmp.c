// setjmp and longjmp: out of deep recursion, repeatedly, with every value, and across two stacks of jump buffers.
// build: static
#include <setjmp.h>

#include "guest.h"

static jmp_buf outer, inner;
static volatile int depth_reached;

static __attribute__((noinline)) int dive(int depth) {
  volatile char frame[64];
  frame[depth & 63] = (char)depth;
  depth_reached = depth;
  if (depth == 100) longjmp(inner, 7);
  if (depth > 1000) return 0;
  return dive(depth + 1) + frame[depth & 63];
}

int main(void) {
  volatile int rounds = 0, total = 0;
  const int value = setjmp(outer);
  total += value;
  if (value < 150) {
    const int caught = setjmp(inner);
    if (caught == 0) total += dive(value & 31);
    GUEST_CHECK(caught == 7 && depth_reached == 100);
    ++rounds;
    longjmp(outer, value + 1);
  }
  if (setjmp(outer) == 0) longjmp(outer, 0);  // 0 becomes 1
  printf("rounds %d total %d\n", rounds, total);
  return 0;
}
