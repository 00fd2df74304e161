// mmap, mprotect, mremap, munmap in every mixture: holes, replacement by MAP_FIXED, NOREPLACE, growing in place and by
// moving, file mappings private and shared, hints, MAP_32BIT, zero pages after MADV_DONTNEED, error codes.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"

enum { PAGE = 4096 };
static const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;

int main(void) {
  char* area = mmap(NULL, 64 * PAGE, rw, anonymous, -1, 0);
  for (int i = 0; i < 64; ++i) area[i * PAGE] = (char)i;
  GUEST_CHECK(munmap(area + 10 * PAGE, 4 * PAGE) == 0);
  GUEST_CHECK(mprotect(area + 8 * PAGE, 8 * PAGE, PROT_READ) == -1 && errno == ENOMEM);
  char* inside = mmap(area + 10 * PAGE, 4 * PAGE, rw, anonymous | MAP_FIXED_NOREPLACE, -1, 0);
  GUEST_CHECK(inside == area + 10 * PAGE && inside[0] == 0);
  GUEST_CHECK(mmap(area + 9 * PAGE, 2 * PAGE, rw, anonymous | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
  GUEST_CHECK(mmap(area + 20 * PAGE, PAGE, rw, anonymous | MAP_FIXED, -1, 0) == area + 20 * PAGE && area[20 * PAGE] == 0);
  area[63 * PAGE + 5] = 99;
  char* grown = mremap(area + 60 * PAGE, 4 * PAGE, 40 * PAGE, MREMAP_MAYMOVE);
  GUEST_CHECK(grown != MAP_FAILED && grown[3 * PAGE + 5] == 99 && grown[PAGE] == 61 && grown[39 * PAGE] == 0);
  GUEST_CHECK(mremap(grown, 40 * PAGE, 2 * PAGE, 0) == grown && grown[PAGE] == 61);
  char* target = mmap(NULL, 2 * PAGE, PROT_NONE, anonymous, -1, 0);
  GUEST_CHECK(mremap(grown, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target && target[0] == 60);
  GUEST_CHECK(madvise(area, PAGE, MADV_DONTNEED) == 0 && area[0] == 0 && area[PAGE] == 1);
  GUEST_CHECK(mmap(NULL, 0, rw, anonymous, -1, 0) == MAP_FAILED && errno == EINVAL);
  GUEST_CHECK(munmap(area + 1, PAGE) == -1 && errno == EINVAL);
  GUEST_CHECK(mmap(NULL, PAGE, rw, MAP_SHARED, -1, 0) == MAP_FAILED && errno == EBADF);
  // Two at once: from Linux 6.17 on. What an older one answers is the same too.
  GUEST_CHECK(mprotect(area, PAGE, PROT_READ) == 0);
  char* const both = mmap(NULL, 2 * PAGE, PROT_NONE, anonymous, -1, 0);
  const int moved = mremap(area, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, both) == both;
  printf("two mappings at once: %s\n", moved ? "moved" : strerror(errno));
  printf("the target is there: %d, the source: %d\n", msync(both, PAGE, MS_ASYNC) == 0, msync(area, PAGE, MS_ASYNC) == 0);
  puts("anonymous");

  char name[] = "/tmp/mmap-games-XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  GUEST_CHECK(ftruncate(fd, 10 * PAGE) == 0);
  char* shared = mmap(NULL, 10 * PAGE, rw, MAP_SHARED, fd, 0);
  char* private = mmap(NULL, 10 * PAGE, rw, MAP_PRIVATE, fd, 0);
  char* offset = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 3 * PAGE);
  memcpy(shared + 3 * PAGE, "three", 6);
  private[4 * PAGE] = 'p';
  char text[8] = "";
  GUEST_CHECK(pread(fd, text, 6, 3 * PAGE) == 6);
  printf("file: %s %s %s, private kept %d\n", text, offset, private + 3 * PAGE, shared[4 * PAGE] == 0);
  GUEST_CHECK(pwrite(fd, "written", 8, 5 * PAGE) == 8);
  printf("written seen: %s\n", shared + 5 * PAGE);
  GUEST_CHECK(msync(shared, 10 * PAGE, MS_SYNC) == 0);
  // Pages of a shared mapping in another order; and what is none, or is not shared.
  GUEST_CHECK(remap_file_pages(shared + 8 * PAGE, PAGE, 0, 5, 0) == 0 && remap_file_pages(shared + PAGE + 3, 2 * PAGE, 0, 3, 0) == 0);
  printf("remapped: %s %s %s\n", shared + 8 * PAGE, shared + PAGE, shared + 3 * PAGE);
  strcpy(shared + PAGE, "three again");
  GUEST_CHECK(pread(fd, text, 6, 3 * PAGE) == 6 && mprotect(shared + PAGE, PAGE, PROT_READ) == 0);
  printf("through it: %s %s\n", text, offset);
  GUEST_CHECK(remap_file_pages(private, PAGE, 0, 1, 0) == -1 && errno == EINVAL);
  GUEST_CHECK(remap_file_pages(shared, PAGE, PROT_READ, 1, 0) == -1 && errno == EINVAL);
  GUEST_CHECK(remap_file_pages(shared, 11 * PAGE, 0, 0, 0) == -1 && errno == EINVAL);
  GUEST_CHECK(remap_file_pages((char*)8, PAGE, 0, 0, 0) == -1 && errno == EINVAL);
  close(fd);
  printf("after close: %s\n", shared + 5 * PAGE);

  char* low = mmap(NULL, PAGE, rw, anonymous | MAP_32BIT, -1, 0);
  printf("MAP_32BIT %d\n", low == MAP_FAILED || (uintptr_t)low < 0x80000000u);
  char* fixed = mmap((void*)0x700000000000, PAGE, rw, anonymous | MAP_FIXED_NOREPLACE, -1, 0);
  printf("fixed far address %d\n", fixed == (char*)0x700000000000);
  fixed = mmap((void*)0x50000000, 3 * PAGE, rw, anonymous | MAP_FIXED_NOREPLACE, -1, 0);
  printf("fixed near address %d\n", fixed == (char*)0x50000000);
  strcpy(fixed, "still here");
  char* hint = mmap((void*)0x7f0000000000, PAGE, rw, anonymous, -1, 0);
  printf("hint accepted or ignored %d\n", hint != MAP_FAILED);
  unsigned total = 0;
  for (int round = 0; round < 300; ++round) {  // the same place with changing protections
    char* p = mmap(NULL, 16 * PAGE, rw, anonymous, -1, 0);
    p[round % 16 * PAGE] = (char)round;
    GUEST_CHECK(mprotect(p, 8 * PAGE, PROT_READ) == 0 && mprotect(p + 4 * PAGE, 8 * PAGE, rw) == 0);
    total += (unsigned char)p[round % 16 * PAGE];
    GUEST_CHECK(munmap(p + 4 * PAGE, 8 * PAGE) == 0 && munmap(p, 16 * PAGE) == 0);
  }
  printf("%u %s\n", total, fixed);
  return 0;
}
