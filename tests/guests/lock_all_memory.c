// mlockall: the program's memory is locked, and no more of it is resident than natively, give or take.
// build: dynamic
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
  printf("nothing: %d %d\n", mlockall(0), errno);
  printf("unknown: %d %d\n", mlockall(128), errno);
  printf("now: %d\n", mlockall(MCL_CURRENT));
  printf("later too: %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
  char* const more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char resident[256];
  int pages = 0;
  if (mincore(more, 1 << 20, resident) == 0) {
    for (int i = 0; i < 256; ++i) pages += resident[i] & 1;
  }
  printf("pages of a new mapping that are there: %d\n", pages);
  printf("undone: %d\n", munlockall());
  return 0;
}
