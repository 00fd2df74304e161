// A sparse file of 1 GiB mapped whole, touched here and there; and 1 GiB of anonymous memory reserved without use.
// build: dynamic -O1
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  const size_t size = (size_t)1 << 30;
  char name[] = "/tmp/sparse-XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  GUEST_CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
  unsigned char* file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  unsigned char* reserved = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  GUEST_CHECK(file != MAP_FAILED && reserved != MAP_FAILED);
  uint64_t state = 1, sum = 0;
  for (int i = 0; i < 200; ++i) {
    const size_t at = guest_random(&state) % size;
    file[at] = (unsigned char)(i + 1);
    reserved[at] = (unsigned char)(i + 2);
  }
  state = 1;
  for (int i = 0; i < 200; ++i) {
    const size_t at = guest_random(&state) % size;
    unsigned char byte = 0;
    GUEST_CHECK(pread(fd, &byte, 1, (off_t)at) == 1);
    sum = sum * 3 + byte + reserved[at];
  }
  printf("%016llx\n", (unsigned long long)sum);
  GUEST_CHECK(munmap(file, size) == 0 && munmap(reserved, size) == 0);
  return 0;
}
