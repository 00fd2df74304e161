// Five hundred children alive at once, released together by closing a pipe, all reaped with their statuses.
// build: dynamic -O1
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { CHILDREN = 500 };

int main(void) {
  int gate[2], report[2];
  GUEST_CHECK(pipe(gate) == 0 && pipe(report) == 0);
  for (int i = 0; i < CHILDREN; ++i) {
    const pid_t child = fork();
    GUEST_CHECK(child >= 0);
    if (child == 0) {
      close(gate[1]);
      char c;
      (void)!read(gate[0], &c, 1);  // end of file when the parent opens the gate
      const uint16_t me = (uint16_t)i;
      GUEST_CHECK(write(report[1], &me, 2) == 2);
      _exit(i % 256);
    }
  }
  close(gate[1]);
  long sum = 0, statuses = 0;
  for (int i = 0; i < CHILDREN; ++i) {
    uint16_t who;
    GUEST_CHECK(read(report[0], &who, 2) == 2);
    sum += who;
  }
  int status, reaped = 0;
  while (wait(&status) > 0) {
    ++reaped;
    statuses += WEXITSTATUS(status);
  }
  printf("reaped %d, numbers %ld, statuses %ld\n", reaped, sum, statuses);
  return 0;
}
