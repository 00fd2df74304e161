// One memory object mapped twice, writable here and executable there: code changes without a write to its own address.
// build: dynamic -O1
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  const int fd = memfd_create("code", 0);
  GUEST_CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
  unsigned char* writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  unsigned char* executable = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  GUEST_CHECK(writable != MAP_FAILED && executable != MAP_FAILED);
  unsigned sum = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    writable[0] = 0xB8;
    memcpy(writable + 1, &i, 4);
    writable[5] = 0xC3;
    sum += ((unsigned (*)(void))(void*)executable)();
  }
  printf("%u\n", sum);
  return 0;
}
