// A SIGSEGV handler that steps over the faulting instruction by editing rip, as emulators and GCs do; also one that
// repairs the page and lets the instruction run again.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "guest.h"

static char* guarded;
static int repaired, skipped;

static void handler(int signal, siginfo_t* info, void* raw) {
  (void)signal;
  ucontext_t* context = (ucontext_t*)raw;
  char* at = (char*)info->si_addr;
  if (guarded != NULL && at >= guarded && at < guarded + 4096) {
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
    ++repaired;
    return;
  }
  const unsigned char* code = (const unsigned char*)context->uc_mcontext.gregs[REG_RIP];
  GUEST_CHECK(code[0] == 0x8B && code[1] == 0x0F && context->uc_mcontext.gregs[REG_ERR] == 4);  // mov ecx, [rdi]
  context->uc_mcontext.gregs[REG_RIP] += 2;
  context->uc_mcontext.gregs[REG_RCX] = 1000 + ++skipped;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  unsigned sum = 0;
  for (int i = 0; i < 200; ++i) {
    unsigned value;
    __asm__ volatile(".byte 0x8B, 0x0F" : "=c"(value) : "D"((uintptr_t)16 * (i + 1)) : "memory");
    sum += value;
  }
  printf("skipped %d sum %u\n", skipped, sum);
  guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 50; ++i) {
    mprotect(guarded, 4096, i & 1 ? PROT_NONE : PROT_READ);
    guarded[i] = (char)i;
    GUEST_CHECK(guarded[i] == i);
  }
  memset(guarded, 7, 100);
  printf("repaired %d\n", repaired);
  return 0;
}
