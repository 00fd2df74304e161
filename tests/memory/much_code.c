// Makes functions and calls each a few times: "much_code anew ROUNDS" all in one place, as a program does that compiles what it is
// about to run; "much_code more ROUNDS" each round behind the one before. A round is 64 KiB of code in functions of some ten
// blocks. "much_code data MIB" touches so much memory, a word of each page. Prints what the functions, or the words, sum to.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kRound = 1 << 16 };

typedef uint32_t function(uint32_t x);

/// Ten times "if (x & bit) x += constant; else x ^= constant;" and back.
static uint8_t* write_function(uint8_t* at, uint32_t* seed) {
  memcpy(at, "\x89\xF8", 2);  // mov eax, edi
  at += 2;
  for (int i = 0; i < 10; ++i) {
    *seed = *seed * 1664525 + 1013904223;
    memcpy(at, "\xA8\x00\x74\x07\x05\x00\x00\x00\x00\xEB\x05\x35\x00\x00\x00\x00", 16);
    at[1] = (uint8_t)(1u << (*seed >> 29));  // test al, bit; jz +7; add eax, constant; jmp +5; xor eax, constant
    memcpy(at + 5, seed, 4);
    memcpy(at + 12, seed, 4);
    at += 16;
  }
  *at++ = 0xC3;
  return at;
}

static uint32_t run_round(uint8_t* code, uint32_t* seed) {
  enum { kMost = kRound / 163 };
  function* functions[kMost];
  uint8_t* at = code;
  for (int i = 0; i < kMost; ++i) {
    functions[i] = (function*)(void*)at;
    at = write_function(at, seed);
  }
  uint32_t x = *seed;
  for (int times = 0; times < 6; ++times)
    for (int i = 0; i < kMost; ++i) x = functions[i](x * 2654435761u >> 7);
  return x;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t count = strtoul(argv[2], NULL, 10);
  uint32_t sum = 0, seed = 1;
  if (strcmp(argv[1], "data") == 0) {
    const size_t bytes = count << 20;
    volatile uint8_t* const data =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return 1;
    for (size_t at = 0; at < bytes; at += 4096) data[at] = (uint8_t)(at >> 12);
    for (size_t at = 0; at < bytes; at += 4096) sum += data[at];
  } else {
    const int anew = strcmp(argv[1], "anew") == 0;
    uint8_t* const code = mmap(NULL, kRound * (anew ? 1 : count), PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    for (size_t round = 0; round < count; ++round) sum += run_round(code + (anew ? 0 : round * kRound), &seed);
  }
  printf("%u\n", sum);
  return 0;
}
