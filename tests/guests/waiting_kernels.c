// build: static
// Loops in which nearly all time is waiting for one instruction, between others that need nothing: its label begins with `waits_`.
// run:
#include <stdint.h>
#include <stdlib.h>

enum { kLines = 1 << 16, kRounds = 20000, kMore = 64 << 20 };
#define NEIGHBOURS "add $1, %%rcx\n lea 3(%%rcx), %%rdx\n xor %%esi, %%esi\n add $2, %%rsi\n"

/* A chase through 4 MiB. */
__attribute__((noinline)) char* chase(char* at) {
  for (long i = 0; i < kRounds; ++i) {
    __asm__ volatile(NEIGHBOURS "waits_for_a_load: mov (%0), %0\n" NEIGHBOURS : "+r"(at) : : "rcx", "rdx", "rsi", "memory");
  }
  return at;
}

/* A load of the same, whose result is added up: what needs it retires with it. */
__attribute__((noinline)) uint64_t gather(const char* at, const uint32_t* order) {
  uint64_t sum = 0;
  for (long i = 0; i < kRounds; ++i) {
    const char* const here = at + (((uint64_t)order[i % kLines] + (sum & 1)) << 6);
    __asm__ volatile("waits_for_a_line: mov (%1), %%rdi\n add %%rdi, %0\n" NEIGHBOURS : "+r"(sum) : "r"(here) : "rdi", "rcx", "rdx", "rsi");
  }
  return sum;
}

__attribute__((noinline)) uint64_t divide(uint64_t value) {
  for (long i = 0; i < kRounds; ++i) {
    __asm__ volatile(NEIGHBOURS "xor %%edx, %%edx\n waits_for_a_quotient: divl %1\n or $1, %%eax\n add $1, %%rcx\n"
                     : "+a"(value) : "r"(1) : "rcx", "rdx", "rsi");
  }
  return value;
}

__attribute__((noinline)) void divide_apart(void) {
  for (long i = 0; i < kRounds; ++i) {
    __asm__ volatile("mov $1000, %%eax\n xor %%edx, %%edx\n waits_for_the_divider: divl %0\n add $1, %%rcx\n" : : "r"(7) : "rax", "rcx", "rdx");
  }
}

/* Lines of 64 MiB that nobody has, without a load: the store buffer is full. */
__attribute__((noinline)) void store(char* at, uint64_t bytes) {
  for (uint64_t i = 0; i < kRounds; ++i) {
    const uint64_t mixed = i * 0x9E3779B97F4A7C15u;
    char* const here = at + ((mixed >> 20) & (bytes - 64));
    __asm__ volatile("waits_for_a_stored_line: movl $1, 32(%0)\n add $1, %%rcx\n lea 3(%%rcx), %%rdx\n" : : "r"(here) : "rcx", "rdx", "memory");
  }
}

int main(void) {
  char* const lines = aligned_alloc(4096, (size_t)kLines * 64 + 4096);
  uint32_t* const order = malloc(kLines * sizeof *order);
  if (lines == 0 || order == 0) return 1;
  uint64_t state = 88172645463325252u;
  for (uint32_t i = 0; i < kLines; ++i) order[i] = i;
  for (uint32_t i = kLines - 1; i > 0; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint32_t j = (uint32_t)(state >> 33) % i, kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (uint32_t i = 0; i < kLines; ++i) {
    char* const line = lines + (uint64_t)order[i] * 64;
    *(char**)line = lines + (uint64_t)order[(i + 1) % kLines] * 64;
  }
  const char* const end = chase(lines);
  const uint64_t sum = gather(lines, order) + divide(7) + (uint64_t)(end - lines);
  divide_apart();
  char* const more = aligned_alloc(4096, kMore);
  if (more == 0) return 1;
  store(more, kMore);
  return sum == 0;
}
