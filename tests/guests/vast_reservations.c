// Terabytes of addresses, as runtimes reserve them: three of 16 TB, some of them given back; a page in the middle is used.
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>

#include "guest.h"

int main(void) {
  const size_t terabyte = (size_t)1 << 40, megabyte = 1 << 20;
  for (int round = 0; round < 3; ++round) {
    char* const at = mmap(0, 16 * terabyte, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("16 TB: %s\n", at == MAP_FAILED ? strerror(errno) : "reserved");
    if (at == MAP_FAILED) continue;
    char* const middle = at + 8 * terabyte;
    GUEST_CHECK(mprotect(middle, megabyte, PROT_READ | PROT_WRITE) == 0);
    memset(middle, round + 1, megabyte);
    printf("%d\n", middle[megabyte - 1]);
    if (round != 0) GUEST_CHECK(munmap(at, 16 * terabyte) == 0);
  }
  return 0;
}
