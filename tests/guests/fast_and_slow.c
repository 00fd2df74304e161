// Stretches of two kinds in turn: FAST rounds of two instructions that do nothing but count, SLOW rounds of five of which three
// multiplications wait for each other; all that TURNS times. A turn takes exactly 4 + 2 FAST + 5 SLOW instructions.
// build: static
#include "guest.h"

int main(int argc, char** argv) {
  const uint64_t fast = argc > 1 ? strtoull(argv[1], NULL, 10) : 3998;
  const uint64_t slow = argc > 2 ? strtoull(argv[2], NULL, 10) : 1600;
  uint64_t turns = argc > 3 ? strtoull(argv[3], NULL, 10) : 10;
  uint64_t left, product = 3;
  __asm__ volatile(
      "1: mov %[fast], %[left]\n"
      "2: dec %[left]\n"
      "jnz 2b\n"
      "mov %[slow], %[left]\n"
      "3: imul %[product], %[product]\n"
      "imul %[product], %[product]\n"
      "imul %[product], %[product]\n"
      "dec %[left]\n"
      "jnz 3b\n"
      "dec %[turns]\n"
      "jnz 1b\n"
      : [left] "=&r"(left), [product] "+r"(product), [turns] "+r"(turns)
      : [fast] "r"(fast), [slow] "r"(slow)
      : "cc");
  printf("%llu\n", (unsigned long long)product);
  return 0;
}
