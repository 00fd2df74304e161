// Recursion to within a few pages of the 8 MiB stack limit, with calls through pointers on the way; the stack must grow.
// build: dynamic -O1 -fno-optimize-sibling-calls
#include <sys/resource.h>

#include "guest.h"

static uint64_t odd(unsigned depth, uint64_t value);
static uint64_t even(unsigned depth, uint64_t value);
static uint64_t (*const volatile next[])(unsigned, uint64_t) = {even, odd};

static uint64_t odd(unsigned depth, uint64_t value) {
  volatile char frame[200];
  frame[depth % 200] = (char)value;
  return depth == 0 ? value : next[value & 1](depth - 1, value * 3 + 1) + (unsigned char)frame[depth % 200];
}
static uint64_t even(unsigned depth, uint64_t value) {
  volatile char frame[240];
  frame[depth % 240] = (char)value;
  return depth == 0 ? value : next[value & 1](depth - 1, value / 2 + depth) ^ (unsigned char)frame[depth % 240];
}

int main(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  const unsigned frames = 7900u * 1024 / 288;  // of at most 288 bytes
  for (int i = 0; i < 3; ++i) printf("%016llx\n", (unsigned long long)next[i & 1](limit.rlim_cur >= 8u << 20 ? frames : 100, 27 + (uint64_t)i));
  return 0;
}
