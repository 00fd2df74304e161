// Code of a mapped file that has become shorter: SIGBUS at the instruction, and one that begins before the end is not complete.
// build: dynamic
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static void* volatile where;
static void caught(int signal, siginfo_t* info, void* context) {
  (void)context;
  where = info->si_addr;
  siglongjmp(back, signal + 100 * info->si_code);
}

static unsigned char* code;
static void try_at(int offset) {
  const int caught_as = sigsetjmp(back, 1);
  if (caught_as == 0) {
    ((void (*)(void))(void*)(code + offset))();
    printf("%d ran\n", offset);
  } else {
    printf("%d: signal %d code %d at %ld\n", offset, caught_as % 100, caught_as / 100, (long)((unsigned char*)where - code));
  }
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGSEGV, &action, NULL);
  const int file = memfd_create("code", 0);
  if (ftruncate(file, 12288) != 0) return 1;
  code = mmap(NULL, 12288, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0);
  memset(code, 0xC3, 12288);
  memset(code + 4080, 0x90, 16);
  code[4094] = 0xB8;  // mov eax, imm32: its constant lies on the next page
  if (ftruncate(file, 4096) != 0) return 1;
  try_at(0);
  try_at(4096);
  try_at(5000);
  try_at(8192);
  try_at(4080);
  if (ftruncate(file, 0) != 0) return 1;
  try_at(8);
  if (ftruncate(file, 12288) != 0) return 1;
  memset(code, 0xC3, 12288);
  try_at(4096);
  return 0;
}
