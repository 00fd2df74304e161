// Handlers that read and change general registers, flags, xmm and mxcsr through the ucontext: what they see is the
// program's state at that instruction, and what they write is the program's state after it.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <ucontext.h>

#include "guest.h"

// Loads known values into everything, executes UD2, and stores what it finds afterwards.
void probe(uint64_t out[16], uint32_t vector[4], uint32_t* mxcsr);
__asm__(
    ".text; probe:\n"
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "push %rdx; push %rsi; push %rdi\n"
    "movdqu (%rsi), %xmm7\n"
    "mov $0x1000, %eax; mov $0x1001, %ebx; mov $0x1002, %ecx; mov $0x1003, %edx; mov $0x1004, %esi; mov $0x1005, %edi\n"
    "mov $0x1006, %ebp; mov $0x1007, %r8d; mov $0x1008, %r9d; mov $0x1009, %r10d; mov $0x100A, %r11d\n"
    "mov $0x100B, %r12d; mov $0x100C, %r13d; mov $0x100D, %r14d; mov $0x100E, %r15d\n"
    "pushq $0x8D5; popfq\n"
    "ud2\n"
    "xchg %rdi, (%rsp)\n"  // rdi: out; its value now on the stack
    "mov %rax, (%rdi); mov %rbx, 8(%rdi); mov %rcx, 16(%rdi); mov %rdx, 24(%rdi); mov %rsi, 32(%rdi)\n"
    "pop %rax; mov %rax, 40(%rdi)\n"
    "mov %rbp, 48(%rdi); mov %r8, 56(%rdi); mov %r9, 64(%rdi); mov %r10, 72(%rdi); mov %r11, 80(%rdi)\n"
    "mov %r12, 88(%rdi); mov %r13, 96(%rdi); mov %r14, 104(%rdi); mov %r15, 112(%rdi)\n"
    "pushfq; pop %rax; mov %rax, 120(%rdi)\n"
    "pop %rsi; movdqu %xmm7, (%rsi); pop %rdx; stmxcsr (%rdx)\n"
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "ret\n");

static void handler(int signal, siginfo_t* info, void* raw) {
  (void)signal;
  (void)info;
  ucontext_t* context = (ucontext_t*)raw;
  greg_t* r = context->uc_mcontext.gregs;
  const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8, REG_R9, REG_R10, REG_R11,
                       REG_R12, REG_R13, REG_R14, REG_R15};
  for (int i = 0; i < 15; ++i) {
    GUEST_CHECK(r[order[i]] == 0x1000 + i);
    r[order[i]] += 0x100 * i;
  }
  GUEST_CHECK((r[REG_EFL] & 0x8D5) == 0x8D5);  // all six set
  r[REG_EFL] &= ~0x8D5;
  GUEST_CHECK(context->uc_mcontext.fpregs != NULL);
  uint32_t* xmm = context->uc_mcontext.fpregs->_xmm[7].element;
  GUEST_CHECK(xmm[0] == 0x11111111 && xmm[3] == 0x44444444);
  xmm[0] = 0xAAAAAAAA;
  context->uc_mcontext.fpregs->mxcsr |= 0x6000;
  r[REG_RIP] += 2;  // past UD2
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  for (int round = 0; round < 20; ++round) {
    uint64_t out[16];
    uint32_t vector[4] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};
    uint32_t mxcsr = 0;
    const uint32_t plain = 0x1F80;
    probe(out, vector, &mxcsr);
    __asm__ volatile("ldmxcsr %0" ::"m"(plain));
    out[15] &= 0x8D5;
    if (round % 10 != 0) continue;
    for (int i = 0; i < 16; ++i) printf("%llx ", (unsigned long long)out[i]);
    printf("%x %x mxcsr %x\n", vector[0], vector[3], mxcsr);
  }
  return 0;
}
