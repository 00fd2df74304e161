/* A walk in random order through so many KiB, each step waiting for the one before:  pointer_chase KIB STEPS
   Compile it with: cc -O1 -g -o pointer_chase examples/pointer_chase/pointer_chase.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct Node {
  struct Node* next;
  char padding[56]; /* one to a cache line */
};

static __attribute__((noinline)) struct Node* walk(struct Node* at, unsigned long steps) {
  while (steps-- != 0) at = at->next;
  return at;
}

int main(int argc, char** argv) {
  const unsigned long nodes = (argc > 1 ? strtoul(argv[1], 0, 10) : 64) * 1024 / sizeof(struct Node);
  const unsigned long steps = argc > 2 ? strtoul(argv[2], 0, 10) : 100000;
  struct Node* const all = aligned_alloc(64, nodes * sizeof(struct Node));
  if (all == 0 || nodes == 0) return 1;
  /* One cycle through all (Sattolo's shuffle of the identity). */
  for (unsigned long i = 0; i < nodes; ++i) all[i].next = &all[i];
  uint64_t random = 1;
  for (unsigned long i = nodes - 1; i > 0; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const unsigned long k = (random >> 33) % i;
    struct Node* const swap = all[i].next;
    all[i].next = all[k].next;
    all[k].next = swap;
  }
  struct Node* const end = walk(walk(all, nodes), steps); /* once round, so that caches hold what they can */
  printf("%ld\n", (long)(end - all));
  free(all);
  return 0;
}
