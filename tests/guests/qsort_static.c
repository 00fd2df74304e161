// Sorting, searching and hashing with libc, static: calls through pointers, string functions, division.
// build: static
#include "guest.h"

static int by_value(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}
static int by_text(const void* a, const void* b) { return strcmp((const char*)a, (const char*)b); }

int main(void) {
  uint64_t state = 1;
  uint32_t numbers[700];
  for (int i = 0; i < 700; ++i) numbers[i] = (uint32_t)guest_random(&state) % 5000;
  qsort(numbers, 700, sizeof *numbers, by_value);
  printf("%016llx\n", (unsigned long long)guest_sum(GUEST_SUM, numbers, sizeof numbers));
  int found = 0;
  for (uint32_t key = 0; key < 500; ++key) found += bsearch(&key, numbers, 700, sizeof *numbers, by_value) != NULL;
  printf("found %d\n", found);
  static char names[100][24];
  for (int i = 0; i < 100; ++i) snprintf(names[i], sizeof names[i], "name-%llu", (unsigned long long)guest_random(&state) % 997);
  qsort(names, 100, sizeof *names, by_text);
  printf("%s %s %s\n", names[0], names[50], names[99]);
  return 0;
}
