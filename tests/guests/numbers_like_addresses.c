// Numbers in system calls that have the values of addresses at which the program has nothing.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  const unsigned long numbers[] = {0x60000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x200000000, 0x550000000234};
  char name[] = "/tmp/numbers.XXXXXX";
  const int file = mkstemp(name);
  GUEST_CHECK(file >= 0 && unlink(name) == 0);
  for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    const long set = syscall(SYS_prctl, PR_SET_TIMERSLACK, numbers[i]);
    printf("%lx: slack %ld %lx, offset %lx\n", numbers[i], set, syscall(SYS_prctl, PR_GET_TIMERSLACK),
           lseek(file, (off_t)numbers[i], SEEK_SET));
  }
  GUEST_CHECK(fcntl(file, F_SETFL, 0x60000000 | O_NOATIME | O_APPEND) == 0);
  printf("flags: %x\n", fcntl(file, F_GETFL) & (O_NOATIME | O_APPEND | O_NONBLOCK));
  int ends[2];
  GUEST_CHECK(pipe(ends) == 0);
  GUEST_CHECK(fcntl(ends[0], F_SETPIPE_SZ, 0xC0000000) == -1);
  printf("pipe: %d\n", errno);
  signal(SIGIO, SIG_IGN);
  const int folder = open("/", O_RDONLY | O_DIRECTORY);
  printf("events: %ld", syscall(SYS_fcntl, folder, F_NOTIFY, 0x80000000 | DN_CREATE));  // DN_MULTISHOT
  printf(" %d\n", syscall(SYS_fcntl, folder, F_NOTIFY, 0x80000000) == 0 ? 0 : errno);
  printf("owner: %ld", syscall(SYS_fcntl, ends[0], F_SETOWN, (unsigned)-getpgrp()));
  printf(" %d\n", fcntl(ends[0], F_GETOWN) == -getpgrp());
  return 0;
}
