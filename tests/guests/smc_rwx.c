// Self-modifying code in a page that is writable and executable: each change must be seen by the next call.
// build: dynamic -O1
#include <sys/mman.h>

#include "guest.h"

int main(void) {
  unsigned char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(page != MAP_FAILED);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 3000; ++i) {  // mov eax, i; ret, at a moving place, also across the page boundary
    unsigned char* code = page + (i * 7) % 8186;
    code[0] = 0xB8;
    memcpy(code + 1, &i, 4);
    code[5] = 0xC3;
    sum = sum * 31 + ((uint32_t (*)(void))(void*)code)();
  }
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}
