// Instructions that trap or that no program may run: INT3, ICEBP, INT n, INTO, UD0 to UD2, privileged ones, prefixes that make none. What a handler
// is told of each.
// build: dynamic
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "guest.h"

enum { kPlace = 16 };  // in the code

static unsigned char* code;
static sigjmp_buf back;
static const unsigned char* running;
static int size;

static const struct {
  const char* name;
  unsigned char bytes[15];
  int size;
} kinds[] = {
    {"int3", {0xCC}, 1},
    {"icebp", {0xF1}, 1},
    {"66 icebp", {0x66, 0xF1}, 2},
    {"int 3", {0xCD, 3}, 2},
    {"int 4", {0xCD, 4}, 2},
    {"int 0", {0xCD, 0}, 2},
    {"int 1", {0xCD, 1}, 2},
    {"int 20h", {0xCD, 0x20}, 2},
    {"int FFh", {0xCD, 0xFF}, 2},
    {"into", {0xCE}, 1},
    {"ud0", {0x0F, 0xFF, 0xC0}, 3},
    {"ud1", {0x0F, 0xB9, 0xC0}, 3},
    {"ud2", {0x0F, 0x0B}, 2},
    {"hlt", {0xF4}, 1},
    {"cli", {0xFA}, 1},
    {"in", {0xEC}, 1},
    {"mov from cr0", {0x0F, 0x20, 0xC0}, 3},
    {"rdmsr", {0x0F, 0x32}, 2},
    {"invd", {0x0F, 8}, 2},
    {"lgdt", {0x0F, 1, 0x10}, 3},
    {"swapgs", {0x0F, 1, 0xF8}, 3},
    {"sysret", {0x0F, 7}, 2},
    {"sysexit", {0x0F, 0x35}, 2},
    {"clts", {0x0F, 6}, 2},
    {"push es", {6}, 1},
    {"lock nop", {0xF0, 0x90}, 2},
    {"lock add, register", {0xF0, 1, 0xC0}, 3},
    {"66 call", {0x67, 0xE8, 0, 0, 0, 0, 0x58}, 7},
    {"16 bytes", {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66}, 15},
};

/* ICEBP is a trap, told behind it. Under some hypervisors (on Zen 4) it is told at it; that is theirs, and nobody's test. */
static long told_behind(long at) {
  const int is_icebp = running[size - 1] == 0xF1;
  return is_icebp && at == kPlace ? kPlace + size : at;
}

static void on_signal(int signal, siginfo_t* info, void* context) {
  const greg_t* const regs = ((ucontext_t*)context)->uc_mcontext.gregs;
  printf("signal %d, code %d, address %ld, at %ld, trap %lld, error %llx\n", signal, info->si_code,
         info->si_addr == 0 ? -1 : told_behind((long)info->si_addr - (long)code),
         told_behind((long)regs[REG_RIP] - (long)code), regs[REG_TRAPNO],
         regs[REG_ERR]);
  siglongjmp(back, 1);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
  for (int i = 0; i < 5; ++i) sigaction(signals[i], &action, 0);
  code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    printf("%s: ", kinds[i].name);
    memset(code, 0x90, 64);
    running = kinds[i].bytes;
    size = kinds[i].size;
    memcpy(code + kPlace, running, (size_t)size);
    code[kPlace + size] = 0xC3;
    if (sigsetjmp(back, 1) == 0) {
      ((void (*)(void))(code + 14))();
      puts("ran");
    }
  }
  return 0;
}
