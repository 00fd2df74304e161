// Code that is put in place by the handler of the fault that calling it was: made executable, mapped, completed on the next page, patched
// where it was no instruction.
// build: dynamic
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "guest.h"

static unsigned char* code;
static int faults;

static void on_fault(int signal, siginfo_t* info, void* unused) {
  (void)unused;
  const long at = (unsigned char*)info->si_addr - code;
  printf("%d: signal %d, code %d, at %ld\n", ++faults, signal, info->si_code, at);
  if (faults > 8) _Exit(99);
  if (signal == SIGILL) {
    memcpy(code + at, "\x90\xC3", 2);
  } else if (at < 4096) {
    mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  } else {
    mmap(code + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(code + 4096, 0xC3, 4096);
  }
}

int main(void) {
  setvbuf(stdout, 0, _IONBF, 0);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, 0);
  sigaction(SIGILL, &action, 0);
  code = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(code + 4096, 4096);
  code[0] = 0xC3;
  ((void (*)(void))code)();  // not executable
  ((void (*)(void))code)();
  ((void (*)(void))(code + 4096 + 7))();  // not mapped
  munmap(code + 4096, 4096);
  memset(code + 4090, 0x90, 6);
  memcpy(code + 4093, "\x48\x8D\x05", 3);  // the first bytes of LEA
  ((void (*)(void))(code + 4090))();       // half an instruction
  memcpy(code + 100, "\x90\x90\x06\x06", 4);
  ((void (*)(void))(code + 100))();  // no instruction, behind two
  memcpy(code + 200, "\x06\x06", 2);
  ((void (*)(void))(code + 200))();  // no instruction
  printf("%d faults\n", faults);
  return 0;
}
