// Code written in a writable page that is then made executable, again and again at one address: what a JIT does.
// build: dynamic -O1
#include <sys/mman.h>

#include "guest.h"

typedef uint64_t (*Function)(uint64_t);

int main(void) {
  unsigned char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(page != MAP_FAILED);
  uint64_t value = 1;
  for (uint32_t i = 0; i < 400; ++i) {
    GUEST_CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
    unsigned char* p = page;
    *p++ = 0x48, *p++ = 0x89, *p++ = 0xF8;              // mov rax, rdi
    for (uint32_t k = 0; k <= i % 20; ++k) {
      *p++ = 0x48, *p++ = 0x69, *p++ = 0xC0;            // imul rax, rax, odd
      const uint32_t odd = (i * 2654435761u + k) | 1;
      memcpy(p, &odd, 4);
      p += 4;
    }
    *p++ = 0xC3;
    GUEST_CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
    for (int k = 0; k < 5; ++k) value = ((Function)(void*)page)(value) + 1;
  }
  printf("%016llx\n", (unsigned long long)value);
  GUEST_CHECK(munmap(page, 4096) == 0);
  unsigned char* again = mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memcpy(again, "\xB8\x07\x00\x00\x00\xC3", 6);         // the same address after munmap: other code
  printf("%llu\n", (unsigned long long)((Function)(void*)again)(0));
  return 0;
}
