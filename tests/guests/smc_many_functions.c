// A JIT's life: twenty thousand small functions made, called through a table, a third of them replaced, all called again.
// build: dynamic -O1
#include <sys/mman.h>

#include "guest.h"

enum { FUNCTIONS = 20000, BYTES = 32 };
typedef uint32_t (*Function)(uint32_t);

static void emit(unsigned char* at, uint32_t n) {  // lea eax, [rdi + n]; rol eax, n; ret
  at[0] = 0x8D, at[1] = 0x87;
  memcpy(at + 2, &n, 4);
  at[6] = 0xC1, at[7] = 0xC0, at[8] = (unsigned char)(n % 31), at[9] = 0xC3;
}

int main(void) {
  unsigned char* code = mmap(NULL, FUNCTIONS * BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(code != MAP_FAILED);
  for (uint32_t i = 0; i < FUNCTIONS; ++i) emit(code + i * BYTES, i);
  uint32_t value = 1;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < FUNCTIONS; ++i) value = ((Function)(void*)(code + (i * 7919 % FUNCTIONS) * BYTES))(value);
    printf("%08x\n", value);
    for (uint32_t i = (uint32_t)round; i < FUNCTIONS; i += 3) emit(code + i * BYTES, i ^ 0x5555);
  }
  return 0;
}
