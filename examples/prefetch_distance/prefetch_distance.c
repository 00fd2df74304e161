/* Reads a large table in random order and asks for what comes so many reads later; 0: for nothing:  prefetch_distance READS
   Compile it with: cc -O1 -g -o prefetch_distance examples/prefetch_distance/prefetch_distance.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kEntries = 1 << 20, kReads = 200000, kMost = 256 };
struct Entry {
  uint64_t value;
  char padding[56]; /* one to a cache line: 64 MiB */
};
static struct Entry table[kEntries];
static uint32_t order[kReads + kMost];

static __attribute__((noinline)) uint64_t plain(void) {
  uint64_t sum = 0;
  for (int i = 0; i < kReads; ++i) sum += table[order[i]].value;
  return sum;
}

static __attribute__((noinline)) uint64_t ahead(int distance) {
  uint64_t sum = 0;
  for (int i = 0; i < kReads; ++i) {
    __builtin_prefetch(&table[order[i + distance]]);
    sum += table[order[i]].value;
  }
  return sum;
}

int main(int argc, char** argv) {
  const int distance = argc > 1 ? atoi(argv[1]) : 0;
  if (distance < 0 || distance > kMost) return 1;
  uint64_t random = 1;
  for (int i = 0; i < kReads + kMost; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    order[i] = (uint32_t)(random >> 33) % kEntries;
  }
  for (int i = 0; i < kEntries; i += 64) table[i].value = (uint64_t)i; /* every page is there */
  printf("%llu\n", (unsigned long long)(distance == 0 ? plain() : ahead(distance)));
  return 0;
}
