// A small interpreter with computed goto: every dispatch is an indirect jump of its own.
// build: static
#include "guest.h"

enum { PUSH, ADD, MUL, XOR, DUP, SWAP, DEC_JNZ, POP, HALT };

static uint64_t run(const unsigned char* code, uint64_t count) {
  static const void* const labels[] = {&&push, &&add, &&mul, &&xor, &&dup, &&swap, &&dec_jnz, &&pop, &&halt};
  uint64_t stack[16] = {0};
  uint64_t* top = stack;
  const unsigned char* pc = code;
#define NEXT goto *labels[*pc++]
  NEXT;
push: *++top = *pc++; NEXT;
add: top[-1] += top[0]; --top; NEXT;
mul: top[-1] *= top[0]; --top; NEXT;
xor: top[-1] ^= top[0]; --top; NEXT;
dup: top[1] = top[0]; ++top; NEXT;
swap: { uint64_t t = top[0]; top[0] = top[-1]; top[-1] = t; } NEXT;
dec_jnz: if (--count != 0) pc -= *pc + 1; else ++pc; NEXT;
pop: --top; NEXT;
halt: return *top;
}

int main(void) {
  static const unsigned char code[] = {PUSH, 7, DUP, PUSH, 30, MUL, ADD, PUSH, 13, XOR, DUP, PUSH, 3, SWAP, POP, ADD,
                                       DEC_JNZ, 14, HALT};
  for (uint64_t count = 1; count < 2000; count *= 3) printf("%llu: %016llx\n", (unsigned long long)count,
                                                            (unsigned long long)run(code, count));
  return 0;
}
