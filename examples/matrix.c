/* Products of matrices of 10 x 10 numbers, for docs/tutorial-counters.md. No libc: what runs is what stands here.
 *   gcc -O1 -static -nostdlib -ffreestanding -Iinclude -o matrix examples/matrix.c */
#include "zeroskid/region.h"

enum { kSize = 10, kProducts = 20 };

static unsigned a[kSize][kSize], b[kSize][kSize], c[kSize][kSize];

static __attribute__((noinline)) void fill(unsigned matrix[kSize][kSize], unsigned number) {
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      number = number * 1664525u + 1013904223u;
      matrix[row][column] = number >> 24;
    }
  }
}

static __attribute__((noinline)) void multiply(void) {
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      unsigned sum = 0;
      for (int i = 0; i < kSize; ++i) sum += a[row][i] * b[i][column];
      c[row][column] = sum;
    }
  }
}

/* By trial division, to have something that is neither a load nor a multiplication. */
static __attribute__((noinline)) int primes(void) {
  int found = 0;
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      unsigned number = c[row][column] & 0x3FFF;
      unsigned divisor = 2;
      while (divisor * divisor <= number && number % divisor != 0) ++divisor;
      found += number > 1 && divisor * divisor > number;
    }
  }
  return found;
}

__attribute__((noreturn, force_align_arg_pointer)) void _start(void) {
  fill(a, 1);
  fill(b, 2);
  ZS_REGION_BEGIN("products");
  for (int product = 0; product < kProducts; ++product) multiply();
  ZS_REGION_END("products");
  ZS_REGION_BEGIN("primes");
  const int found = primes();
  ZS_REGION_END("primes");
  /* exit_group(0), or 1 if arithmetic itself failed */
  __asm__ volatile("syscall" : : "a"(231), "D"(found < 0) : "rcx", "r11", "memory");
  __builtin_unreachable();
}
