// The synchronous signals and what they say: divide error, undefined opcode, INT3, bus error past a file's end, reads
// and writes of unmapped and protected memory, execution of data, a general protection fault.
// build: dynamic -O1
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"

static sigjmp_buf back;
static siginfo_t seen;
static greg_t error_code, trap;

static void handler(int signal, siginfo_t* info, void* raw) {
  seen = *info;
  error_code = ((ucontext_t*)raw)->uc_mcontext.gregs[REG_ERR];
  trap = ((ucontext_t*)raw)->uc_mcontext.gregs[REG_TRAPNO];
  siglongjmp(back, signal);
}
#define TRY(what, base, ...)                                                                                      \
  do {                                                                                                            \
    if (sigsetjmp(back, 1) == 0) {                                                                                \
      __VA_ARGS__;                                                                                                \
      printf("%-24s nothing\n", what);                                                                            \
    } else {                                                                                                      \
      printf("%-24s signal %d code %d trap %d error %d", what, seen.si_signo, seen.si_code, (int)trap, (int)error_code); \
      if (base) printf(" at +%ld", (long)((uintptr_t)seen.si_addr - (uintptr_t)(base)));                                  \
      putchar('\n');                                                                                              \
    }                                                                                                             \
  } while (0)

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  const int signals[] = {SIGFPE, SIGILL, SIGTRAP, SIGBUS, SIGSEGV};
  for (int i = 0; i < 5; ++i) sigaction(signals[i], &action, NULL);
  volatile int zero = 0, minimum = -2147483647 - 1, minus_one = -1;
  char* none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* readable = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  data[0] = (char)0xC3;
  const int fd = memfd_create("short", 0);
  GUEST_CHECK(ftruncate(fd, 100) == 0);
  char* file = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
  TRY("division by zero", NULL, zero = 5 / zero);
  TRY("division overflow", NULL, minimum = minimum / minus_one);
  TRY("undefined opcode", NULL, __asm__ volatile("ud2"));
  TRY("breakpoint", NULL, __asm__ volatile("int3"));
  TRY("past the file's end", file, zero = file[5000]);
  TRY("read of PROT_NONE", none, zero = none[17]);
  TRY("write of PROT_NONE", none, none[18] = 1);
  TRY("write of PROT_READ", readable, readable[40] = 1);
  TRY("null pointer", (char*)0, *(volatile int*)(uintptr_t)24 = 1);
  TRY("execution of data", data, ((void (*)(void))(void*)data)());
  TRY("execution of nothing", none, ((void (*)(void))(void*)(none + 64))());
  TRY("non-canonical read", NULL, zero = *(volatile int*)0x8000000000000000);
  TRY("privileged instruction", NULL, __asm__ volatile("hlt"));
  TRY("unaligned aligned move", NULL, __asm__ volatile("movaps 1(%0), %%xmm0" ::"r"(data)));
  TRY("rep movsb into nothing", none, __asm__ volatile("rep movsb" ::"S"(data), "D"(none), "c"(10)));
  TRY("x87 divide, unmasked", NULL, __asm__ volatile("fninit; pushq $0x37B; fldcw (%%rsp); pop %%rax; fldz; fld1; fdivp; fwait" ::: "rax"));
  __asm__ volatile("fninit");
  TRY("SSE divide, unmasked", NULL, __asm__ volatile("pushq $0x1D80; ldmxcsr (%%rsp); pop %%rax; xorps %%xmm0, %%xmm0; mov $0x3f800000, %%eax; movd %%eax, %%xmm1; divss %%xmm0, %%xmm1" ::: "rax", "xmm0", "xmm1"));
  return 0;
}
