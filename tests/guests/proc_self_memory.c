// /proc/self/mem: a program reads itself there, writes what it may not write otherwise, and runs code that it wrote there.
// build: dynamic
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest.h"

static const volatile int constant = 5;
static int (*volatile answer)(void);

int main(void) {
  const int fd = open("/proc/self/mem", O_RDWR);
  GUEST_CHECK(fd >= 0);
  unsigned char bytes[4];
  extern const char __executable_start;
  GUEST_CHECK(pread(fd, bytes, 4, (off_t)&__executable_start) == 4);
  printf("%02x %.3s\n", bytes[0], bytes + 1);
  const int seven = 7;
  printf("%zd %d\n", pwrite(fd, &seven, sizeof seven, (off_t)&constant), constant);

  unsigned char* const code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char text[6] = {0xB8, 1, 0, 0, 0, 0xC3};  // mov eax, 1; ret
  memcpy(code, text, 6);
  answer = (int (*)(void))code;
  for (int protection = 0; protection < 2; ++protection) {
    printf("%d", answer());
    text[1] = 2;
    GUEST_CHECK(pwrite(fd, text, 6, (off_t)code) == 6);
    printf(" %d", answer());
    text[1] = 3;
    GUEST_CHECK(lseek(fd, (off_t)code, SEEK_SET) == (off_t)code && write(fd, text, 6) == 6);
    printf(" %d", answer());
    text[1] = 4;
    const struct iovec parts[2] = {{text, 2}, {text + 2, 4}};
    const int again = dup(fd);
    GUEST_CHECK(pwritev(again, parts, 2, (off_t)code) == 6);
    close(again);
    printf(" %d\n", answer());
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
  }
  printf("%zd\n", pread(fd, bytes, 1, 0));
  return 0;
}
