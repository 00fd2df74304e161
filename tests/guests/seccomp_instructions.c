// Filters of system calls that compute: each draws its instructions, and answers a call of its own with what is left in the
// accumulator.
// build: dynamic -O1
#define _GNU_SOURCE
#include "seccomp.h"

enum { kFilters = 48, kDrawn = 30 };

static uint64_t state = 9;
static unsigned draw(unsigned below) { return (unsigned)(guest_random(&state) % below); }
static unsigned draw_word(void) {
  const unsigned words[] = {0, 1, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678};
  return draw(2) ? words[draw(7)] : (unsigned)guest_random(&state);
}
static struct sock_filter drawn(int left) {
  const unsigned operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
  const unsigned comparisons[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
  const unsigned source = draw(2) ? BPF_X : BPF_K;
  const unsigned ahead = left > 4 ? 4 : (unsigned)left;
  const unsigned word = draw(14);  // not the instruction pointer, which differs between runs
  switch (draw(9)) {
    case 0: return INSN(BPF_LD | BPF_W | BPF_ABS, (word < 2 ? word : word + 2) * 4);
    case 1: return draw(2) ? INSN(BPF_LD | BPF_W | BPF_LEN, 0) : INSN(BPF_LDX | BPF_W | BPF_LEN, 0);
    case 2: return INSN((draw(2) ? BPF_LD : BPF_LDX) | BPF_IMM, draw_word());
    case 3: return INSN((draw(2) ? BPF_LD : BPF_LDX) | BPF_MEM, draw(BPF_MEMWORDS));
    case 4: return INSN(draw(2) ? BPF_ST : BPF_STX, draw(BPF_MEMWORDS));
    case 5: return INSN(BPF_MISC | (draw(2) ? BPF_TAX : BPF_TXA), 0);
    case 6: return JUMP(comparisons[draw(4)] | source, draw_word(), draw(ahead), draw(ahead));
    case 7: return JUMP(BPF_JA, draw(ahead), 0, 0);
    default: break;
  }
  const unsigned operation = operations[draw(10)];
  if (operation == BPF_NEG) return INSN(BPF_ALU | BPF_NEG, 0);
  const int shifts = operation == BPF_LSH || operation == BPF_RSH;
  return INSN(BPF_ALU | operation | source, shifts ? draw(32) : draw_word() | 1);
}

static int number;
static void calls(void) {
  errno = 0;
  const long result = syscall(kNoCall + number, 0x123456789ABCDEF0, -1L, 0, number, 0x8000000000000000, 77);
  printf("%d: %ld %d\n", number, result, errno);
}

int main(void) {
  GUEST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  for (int n = 0; n < kFilters; ++n) {
    struct sock_filter program[80] = {LOAD(nr), JUMP(BPF_JEQ, kNoCall + n, 1, 0), RETURN(SECCOMP_RET_ALLOW)};
    int at = 3;
    for (int word = 0; word < BPF_MEMWORDS; ++word) program[at++] = INSN(BPF_ST, word);
    for (int i = 0; i < kDrawn; ++i) program[at++] = drawn(kDrawn - i);
    program[at++] = INSN(BPF_ALU | BPF_AND | BPF_K, 0xFFF);
    program[at++] = INSN(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
    program[at++] = INSN(BPF_RET | BPF_A, 0);
    GUEST_CHECK(set_filter(program, (size_t)at, 0) == 0);
  }
  for (number = 0; number < kFilters; ++number) in_child("answered", calls);  // or killed, where it divides by 0
  return 0;
}
