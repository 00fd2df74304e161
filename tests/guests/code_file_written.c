// A file that is mapped privately as code changes: by write, pwrite, a store into a shared mapping, a descriptor that
// a child writes to. What the pages show is what runs, and a page that the program has made its own stays as it was.
// build: dynamic
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kPage = 4096 };

// mov eax, value; ret
static void put(unsigned char* at, int value) {
  at[0] = 0xB8;
  memcpy(at + 1, &value, sizeof value);
  at[5] = 0xC3;
}
static int run(unsigned char* at) { return ((int (*)(void))(void*)at)(); }

static unsigned char text[6];
static const unsigned char* code(int value) {
  put(text, value);
  return text;
}

static void with_descriptor(const char* what, int fd, unsigned char* mapped) {
  printf("%s: %d %d", what, run(mapped), run(mapped + kPage));
  for (int i = 0; i < 50; ++i) {
    GUEST_CHECK(pwrite(fd, code(100 + i), 6, 0) == 6);
    GUEST_CHECK(run(mapped) == 100 + i);
  }
  GUEST_CHECK(lseek(fd, kPage, SEEK_SET) == kPage && write(fd, code(200), 6) == 6);
  printf(" %d", run(mapped + kPage));
  struct iovec one = {text, 6};
  put(text, 201);
  GUEST_CHECK(pwritev(fd, &one, 1, kPage) == 6);
  printf(" %d", run(mapped + kPage));
  unsigned char* const shared = mmap(0, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  GUEST_CHECK(shared != MAP_FAILED);
  for (int i = 0; i < 50; ++i) {
    put(shared, 300 + i);
    GUEST_CHECK(run(mapped) == 300 + i);
  }
  munmap(shared, 2 * kPage);
  printf(" %d\n", run(mapped));
}

int main(void) {
  const int fd = open("code", O_RDWR | O_CREAT | O_TRUNC, 0700);
  GUEST_CHECK(fd >= 0 && ftruncate(fd, 2 * kPage) == 0);
  GUEST_CHECK(pwrite(fd, code(1), 6, 0) == 6 && pwrite(fd, code(2), 6, kPage) == 6);

  // Open for writing before it is mapped, with another descriptor.
  const int reader = open("code", O_RDONLY);
  unsigned char* mapped = mmap(0, 2 * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, reader, 0);
  GUEST_CHECK(mapped != MAP_FAILED);
  with_descriptor("open before", fd, mapped);
  close(fd);
  munmap(mapped, 2 * kPage);

  // Open for writing after it has run.
  mapped = mmap(0, 2 * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, reader, 0);
  GUEST_CHECK(mapped != MAP_FAILED);
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += run(mapped) + run(mapped + kPage);
  printf("%d\n", sum);
  const int later = open("code", O_WRONLY);
  GUEST_CHECK(pwrite(later, code(7), 6, 0) == 6);
  printf("open after: %d %d\n", run(mapped), run(mapped + kPage));
  close(later);
  printf("closed: %d\n", run(mapped));
  const int both = open("code", O_RDWR);
  with_descriptor("open again", both, mapped);

  // A child writes.
  const pid_t child = fork();
  if (child == 0) _exit(pwrite(both, code(11), 6, 0) == 6 ? 0 : 1);
  int status;
  waitpid(child, &status, 0);
  printf("child %d: %d\n", WEXITSTATUS(status), run(mapped));

  // The program's own page.
  GUEST_CHECK(mprotect(mapped, kPage, PROT_READ | PROT_WRITE) == 0);
  put(mapped, 12);
  GUEST_CHECK(mprotect(mapped, kPage, PROT_READ | PROT_EXEC) == 0);
  printf("own page: %d", run(mapped));
  GUEST_CHECK(pwrite(both, code(13), 6, 0) == 6 && pwrite(both, code(14), 6, kPage) == 6);
  printf(" %d %d\n", run(mapped), run(mapped + kPage));

  // Cleared and written anew, as by a program that installs a library over a loaded one.
  const int anew = open("code", O_WRONLY | O_TRUNC);
  GUEST_CHECK(ftruncate(anew, 2 * kPage) == 0 && pwrite(anew, code(15), 6, kPage) == 6);
  printf("anew: %d\n", run(mapped + kPage));
  unlink("code");
  return 0;
}
