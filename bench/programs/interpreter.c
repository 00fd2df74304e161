// A bytecode interpreter with computed goto: an indirect jump every few instructions, each site with many targets.
#include <stdint.h>
#include <stdio.h>

enum { LOAD, ADD, SUB, MUL, XOR, SHIFT, LESS, JUMP_IF, STORE, PUSH, INC, HALT };

static int64_t run(const int32_t* code, int64_t limit) {
  static const void* const labels[] = {&&load, &&add, &&sub, &&mul, &&exclusive, &&shift, &&less, &&jump_if, &&store,
                                       &&push, &&inc, &&halt};
  int64_t stack[32], variables[8] = {0, 1, 3, limit, 0, 0, 0, 0};
  int64_t* top = stack;
  const int32_t* pc = code;
#define NEXT goto *labels[*pc++]
  NEXT;
load: *++top = variables[*pc++]; NEXT;
push: *++top = *pc++; NEXT;
add: top[-1] += *top; --top; NEXT;
sub: top[-1] -= *top; --top; NEXT;
mul: top[-1] *= *top; --top; NEXT;
exclusive: top[-1] ^= *top; --top; NEXT;
shift: *top = (int64_t)((uint64_t)*top >> *pc++); NEXT;
less: top[-1] = top[-1] < *top; --top; NEXT;
store: variables[*pc++] = *top--; NEXT;
inc: ++variables[*pc++]; NEXT;
jump_if: if (*top--) pc = code + *pc; else ++pc; NEXT;
halt: return variables[1];
}

int main(void) {
  // v1 = v1 * v2 + 12345; v2 = v1 ^ v1 >> 7; if (v2 >= 0) ++v4; while (++v0 < limit)
  static const int32_t program[] = {
      LOAD, 1, LOAD, 2, MUL, PUSH, 12345, ADD, STORE, 1, LOAD, 1, SHIFT, 7, LOAD, 1, XOR, STORE, 2, LOAD, 2, PUSH, 0,
      LESS, JUMP_IF, 28, INC, 4, INC, 0, LOAD, 0, LOAD, 3, LESS, JUMP_IF, 0, HALT};
  printf("%lld\n", (long long)run(program, 15000000));
  return 0;
}
