// What several guests share: a checksum for results, and an end with a message when an expectation fails.
#ifndef GUEST_H
#define GUEST_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// FNV-1a over `bytes` of `data`, continuing from `sum` (start with GUEST_SUM).
#define GUEST_SUM 0xcbf29ce484222325u
static inline uint64_t guest_sum(uint64_t sum, const void* data, size_t bytes) {
  const unsigned char* p = (const unsigned char*)data;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ p[i]) * 0x100000001b3u;
  return sum;
}

// Pseudo-random numbers that are the same everywhere.
static inline uint64_t guest_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 16;
}

#define GUEST_CHECK(condition)                                                \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(99);                                                               \
    }                                                                         \
  } while (0)
#endif
