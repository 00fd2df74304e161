// What --virtual-time makes a function of the run: random bytes, AT_RANDOM, addresses, clocks and process ids must still
// behave as such, with different values at different calls.
// build: dynamic -O1
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  uint64_t a[4] = {0};
  for (int i = 0; i < 4; ++i) GUEST_CHECK(getrandom(&a[i], 8, 0) == 8);
  printf("different %d\n", a[0] != a[1] && a[1] != a[2] && a[2] != a[3]);
  const unsigned char* r = (const unsigned char*)getauxval(AT_RANDOM);
  GUEST_CHECK(r != NULL);
  unsigned all = 0;
  for (int i = 0; i < 16; ++i) all |= r[i];
  printf("AT_RANDOM %d page size %lu\n", all != 0, getauxval(AT_PAGESZ));
  FILE* file = fopen("/dev/urandom", "r");
  uint64_t b[2];
  GUEST_CHECK(fread(b, 8, 2, file) == 2 && b[0] != b[1]);
  const pid_t child = fork();
  if (child == 0) _exit(getppid() > 0 && getpid() > 0 && getpid() != getppid() ? 1 : 2);
  int status;
  printf("waited for it %d", waitpid(child, &status, 0) == child);
  printf(" status %d\n", WEXITSTATUS(status));
  return 0;
}
