// brk and sbrk: the break moves up and down, memory comes back zeroed, malloc on top of it goes on working.
// build: static -O1
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  char* start = sbrk(0);
  GUEST_CHECK(start != (char*)-1);
  for (int i = 1; i <= 100; ++i) {
    char* old = sbrk(40000);
    GUEST_CHECK(old != (char*)-1);
    for (int k = 0; k < 40000; k += 999) GUEST_CHECK(old[k] == 0);
    memset(old, i, 40000);
  }
  char* top = sbrk(0);
  printf("grown by %ld\n", (long)(top - start));
  GUEST_CHECK(brk(start + 4096) == 0);
  GUEST_CHECK(sbrk(100000) == start + 4096);
  int dirty = 0;
  for (char* p = (char*)(((uintptr_t)start + 12287) & ~(uintptr_t)4095); p < start + 100000; ++p) dirty += *p != 0;
  printf("dirty bytes after shrinking and growing: %d\n", dirty);
  printf("brk(0) below the start: %d\n", syscall(SYS_brk, 4096) == (long)(start + 104096));
  void* blocks[300];
  uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    const size_t n = guest_random(&state) % 30000;
    blocks[i] = malloc(n);
    memset(blocks[i], i, n);
    if (i % 3 == 2) {
      free(blocks[i - 1]);
      blocks[i - 1] = malloc(7);
    }
  }
  for (int i = 0; i < 300; ++i) free(blocks[i]);
  printf("break is above the start: %d\n", (char*)sbrk(0) > start);
  return 0;
}
