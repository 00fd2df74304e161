// A program whose stack is known at each of its instructions: every function node_A_B is called by node_A alone, from
// one place. What else
// calls is in the table of stacks_test.py. The depth of a recursion is in R15, which this file is compiled not to use.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define NODE __attribute__((noinline, noclone))
#define KEEP(value) __asm__ volatile("" : "+r"(value))  // what follows a call is not nothing: no tail call

register long depth __asm__("r15");

NODE static long work(long x) {
  for (int i = 0; i < 7; ++i) x = x * 3 + (x >> 5);
  return x;
}

/* A line of calls, each with another frame: none, saved registers, arrays. */
NODE long node_1_1_1_1_1(long x) { return x * 5 + 1; }
NODE long node_1_1_1_1(long x) {
  long y = node_1_1_1_1_1(x);
  KEEP(y);
  return y ^ x;
}
NODE long node_1_1_1(long x) {
  long a = x * 3, b = x >> 3, c = x ^ 77, d = x + 9;
  long y = node_1_1_1_1(x);
  KEEP(y);
  return y + a * b + (c ^ d);
}
NODE long node_1_1(long x) {
  char text[300];
  memset(text, (int)x, sizeof text);
  KEEP(x);
  long y = node_1_1_1(x + text[x & 127]);
  KEEP(y);
  return y + text[(x + 1) & 127];
}
NODE long node_1_2(long x) {
  char* const text = alloca(16 + (x & 255));
  text[x & 15] = (char)x;
  __asm__ volatile("" : : "r"(text) : "memory");
  return x + text[x & 15];
}
/* A frame with a stricter alignment than the caller's. */
NODE long node_1_3(long x) {
  long line[16] __attribute__((aligned(64)));
  char* const text = alloca(8 + (x & 63));
  for (int i = 0; i < 16; ++i) line[i] = x + i;
  text[0] = (char)x;
  __asm__ volatile("" : : "r"(line), "r"(text) : "memory");
  return line[x & 15] + text[0];
}
NODE long node_1(long x) {
  x = node_1_1(x);
  KEEP(x);
  x = node_1_2(x);
  KEEP(x);
  x = node_1_3(x);
  KEEP(x);
  return x;
}

/* Leaves its place on the stack to the other. */
NODE long after_tail_call(long x) {
  for (int i = 0; i < 5; ++i) x += x >> 3 ^ i;
  return x;
}
NODE long before_tail_call(long x) { return after_tail_call(x * 7); }
NODE long node_2(long x) {
  x = before_tail_call(x);
  KEEP(x);
  return x;
}

/* Called by the library. */
NODE int compare(const void* a, const void* b) { return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b); }
NODE long node_3(long x) {
  int numbers[24];
  for (int i = 0; i < 24; ++i) numbers[i] = (int)((x = x * 1103515245 + 12345) >> 16 & 1023);
  qsort(numbers, 24, sizeof numbers[0], compare);
  return x + numbers[3];
}

/* Left by longjmp. */
static jmp_buf place;
NODE long node_4_1_1(long x) {
  if (x & 1) longjmp(place, 1 + (int)(x & 7));
  return x + 1;
}
NODE long node_4_1(long x) {
  x = node_4_1_1(x);
  KEEP(x);
  return x;
}
NODE long node_4(long x) {
  volatile long kept = x;
  const int code = setjmp(place);
  if (code != 0) return kept + code;
  x = node_4_1(x);
  KEEP(x);
  return x;
}

/* Each knows by R15 how often both are on the stack. */
NODE long odd(long x, long left);
NODE long even(long x, long left) {
  ++depth;
  if (left != 0) x = odd(x + 1, left - 1);
  KEEP(x);
  --depth;
  KEEP(x);
  return x;
}
NODE long odd(long x, long left) {
  ++depth;
  if (left != 0) x = even(x * 3, left - 1);
  KEEP(x);
  --depth;
  KEEP(x);
  return x;
}
NODE long node_5(long x) {
  depth = 0;
  x = even(x, 40);
  KEEP(x);
  return x;
}

/* Signal handlers: on the stack and on one of their own, in code and in a system call. */
static volatile sig_atomic_t signals;
NODE void handler_1(int number) {
  signals += number;
  __asm__ volatile("" : : : "memory");
}
NODE void handler(int number) {
  handler_1(number);
  __asm__ volatile("" : : : "memory");
}
NODE long node_6_1(long x) {
  raise(SIGUSR1);
  return x + signals;
}
NODE long node_6_2(long x) {
  __asm__ volatile("ud2; .byte 0x90" : : : "memory");
  return x + signals;
}
NODE void past_ud2(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  handler_1(1);
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
}
NODE long node_6(long x) {
  x = node_6_1(x);
  KEEP(x);
  x = node_6_2(x);
  KEEP(x);
  return x;
}

/* Fibres. */
static ucontext_t outside, inside[2];
static long fibre_value;
NODE void fibre_1(void) {
  fibre_value = work(fibre_value);
  swapcontext(&inside[0], &outside);
  __asm__ volatile("" : : : "memory");
}
NODE void fibre(void) {
  for (;;) {
    fibre_1();
    __asm__ volatile("" : : : "memory");
  }
}
NODE long node_7(long x) {
  fibre_value = x;
  swapcontext(&outside, &inside[0]);
  return fibre_value;
}

NODE long thread_1(long x) {
  for (int i = 0; i < 50; ++i) x = x * 5 + i;
  return x;
}
NODE void* thread(void* argument) {
  long x = (long)argument;
  for (int i = 0; i < 40; ++i) {
    x += thread_1(x);
    KEEP(x);
  }
  return (void*)x;
}

int main(void) {
  static char fibre_stack[65536], signal_stack[65536];
  const stack_t other = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  sigaltstack(&other, NULL);
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  struct sigaction at_ud2 = {.sa_sigaction = past_ud2, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGILL, &at_ud2, NULL);
  getcontext(&inside[0]);
  inside[0].uc_stack.ss_sp = fibre_stack;
  inside[0].uc_stack.ss_size = sizeof fibre_stack;
  makecontext(&inside[0], fibre, 0);
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, thread, (void*)i);
  long x = 1;
  for (int i = 0; i < 400; ++i) {
    x = node_1(x);
    KEEP(x);
    x = node_2(x);
    KEEP(x);
    x = node_3(x);
    KEEP(x);
    x = node_4(x + i);
    KEEP(x);
    x = node_5(x);
    KEEP(x);
    if (i % 8 == 0) x = node_6(x);
    KEEP(x);
    x = node_7(x);
    KEEP(x);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", x == 0);
  return 0;
}
