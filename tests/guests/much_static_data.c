// A program at a fixed address with 1.6 GiB of static data, as those that measure memory or come from Fortran have: it
// leaves a fifth of the addresses below 2 GiB.
// build: dynamic-fixed
#include "guest.h"

#define BYTES (1600ul << 20)
static char data[BYTES];

int main(void) {
  unsigned long sum = 0;
  for (unsigned long i = 0; i < BYTES; i += 1ul << 20) data[i] = (char)(i >> 20);
  for (unsigned long i = 0; i < BYTES; i += 1ul << 20) sum += (unsigned char)data[i];
  printf("%lu\n", sum);
  return 0;
}
