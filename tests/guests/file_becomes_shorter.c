// Code of a file that becomes shorter after it has run: behind the new end it is SIGBUS, by every way to shorten it; what is left runs.
// build: dynamic
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"

static sigjmp_buf back;
static unsigned char* code;
static void on_signal(int signal, siginfo_t* info, void* unused) {
  (void)unused;
  printf("signal %d, code %d, at %ld\n", signal, info->si_code, (long)((unsigned char*)info->si_addr - code));
  siglongjmp(back, 1);
}

static void call(long at) {
  if (sigsetjmp(back, 1) != 0) return;
  ((void (*)(void))(code + at))();
  printf("ran at %ld\n", at);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, 0);
  static const char kName[] = "code.tmp";
  for (int way = 0; way < 4; ++way) {
    const int fd = open(kName, O_CREAT | O_RDWR, 0700);
    static unsigned char returns[8192];
    memset(returns, 0xC3, sizeof returns);
    GUEST_CHECK(write(fd, returns, sizeof returns) == sizeof returns);
    code = mmap(0, 8192, PROT_READ | PROT_EXEC, way == 3 ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    call(5);
    call(4096 + 5);
    if (way == 0 || way == 3) GUEST_CHECK(ftruncate(fd, 4096) == 0);
    if (way == 1) GUEST_CHECK(truncate(kName, 4096) == 0);
    if (way == 2) GUEST_CHECK(close(open(kName, O_WRONLY | O_TRUNC)) == 0);
    call(5);
    call(4096 + 5);
    GUEST_CHECK(ftruncate(fd, 0) == 0 && write(fd, returns, 0) == 0 && pwrite(fd, returns, 8192, 0) == 8192);
    call(4096 + 5);
    munmap(code, 8192);
    close(fd);
  }
  unlink(kName);
  return 0;
}
