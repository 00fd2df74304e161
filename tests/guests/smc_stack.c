// Code on the stack, where the kernel allows it (the program asks for an executable stack), as GCC's nested functions use it.
// build: dynamic -O1 -z execstack
// compiler: GNU
#include "guest.h"

static int apply(int (*f)(int), int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s += f(i);
  return s;
}

int main(void) {
  int total = 0;
  for (int k = 0; k < 50; ++k) {
    int add(int x) { return x * k + total % 7; }  // needs a trampoline on the stack
    total += apply(add, 20);
  }
  printf("%d\n", total);
  return 0;
}
