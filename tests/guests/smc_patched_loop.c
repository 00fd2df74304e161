// A loop that patches an instruction ahead of itself in its own block, on every round: the store and the stale copy
// of the patched instruction are a few bytes apart.
// build: static -O1
#include <sys/mman.h>

#include "guest.h"

int main(void) {
  // mov eax, 0; L: inc byte [rip+...imm of add]; add eax, imm32; dec edi; jnz L; ret
  static const unsigned char code[] = {0xB8, 0, 0, 0, 0,                       // mov eax, 0
                                       0x80, 0x05, 0x01, 0, 0, 0, 0x03,        // add byte [rip + 1], 3
                                       0x05, 0x01, 0, 0, 0,                    // add eax, 1   (its low byte is patched)
                                       0xFF, 0xCF,                             // dec edi
                                       0x75, 0xF0,                             // jnz -16
                                       0xC3};
  unsigned char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(page != MAP_FAILED);
  memcpy(page + 100, code, sizeof code);
  for (int rounds = 1; rounds < 2000; rounds = rounds * 3 + 1) {
    printf("%d: %d\n", rounds, ((int (*)(int))(void*)(page + 100))(rounds));
  }
  return 0;
}
