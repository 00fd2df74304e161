// Memory latency: a pointer chase through 2 MiB in random order.
#include <stdint.h>
#include <stdio.h>

enum { NODES = 32768 };  // one to a cache line
struct Node {
  struct Node* next;
  uint64_t value;
  char padding[48];
};
static struct Node nodes[NODES];
static uint32_t order[NODES];

int main(void) {
  uint64_t random = 1;
  for (uint32_t i = 0; i < NODES; ++i) order[i] = i;
  for (uint32_t i = NODES - 1; i > 0; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint32_t k = (uint32_t)((random >> 33) % (i + 1)), swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
  for (uint32_t i = 0; i < NODES; ++i) {
    nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
    nodes[i].value = i;
  }
  uint64_t sum = 0;
  const struct Node* at = &nodes[0];
  for (uint32_t i = 0; i < 18000000; ++i) {
    sum += at->value;
    at = at->next;
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
