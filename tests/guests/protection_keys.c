// Protection keys: the rights that a program begins with, that pkey_alloc gives, that a handler finds and that are back behind
// it, in threads and children too; pages with keys, to the program and to system calls; what RDPKRU and WRPKRU do not take. The
// last of the sixteen keys is the engine's.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static uint32_t rights(void) {
  uint32_t value, zero;
  __asm__ volatile(".byte 0x0F, 0x01, 0xEE" : "=a"(value), "=d"(zero) : "c"(0));
  return value;
}
static volatile uint32_t in_handler;
static sigjmp_buf back;
static void handler(int signal) {
  in_handler = rights();
  if (signal == SIGSEGV) siglongjmp(back, 1);
}
static void* in_thread(void* unused) {
  (void)unused;
  printf("in a thread: %x\n", rights());
  return NULL;
}
static const char* try(const char* what, volatile int* at, int store) {
  static char text[64];
  const volatile uint32_t before = rights();
  const int faulted = sigsetjmp(back, 1);
  if (faulted == 0) {
    if (store)
      *at = 1;
    else
      (void)*at;
  }
  // A jump out of a handler takes its rights along.
  __asm__ volatile(".byte 0x0F, 0x01, 0xEF" ::"a"(before), "c"(0), "d"(0) : "memory");
  snprintf(text, sizeof text, "%s %s", what, faulted ? "faults" : "goes");
  return text;
}

// RDPKRU or WRPKRU with what ought to be 0. returns what is in rdx behind it
__attribute__((noinline)) static uint64_t execute(int opcode, uint64_t rcx, uint64_t rdx, uint32_t value) {
  if (opcode == 0xEE)
    __asm__ volatile(".byte 0x0F, 0x01, 0xEE" : "+d"(rdx) : "c"(rcx) : "rax");
  else
    __asm__ volatile(".byte 0x0F, 0x01, 0xEF" ::"a"(value), "c"(rcx), "d"(rdx) : "memory");
  return rdx;
}
static const char* goes(int opcode, uint64_t rcx, uint64_t rdx) {
  const volatile uint32_t now = rights();
  if (sigsetjmp(back, 1) == 0) return execute(opcode, rcx, rdx, now) == 0 ? "goes" : "leaves rdx";
  execute(0xEF, 0, 0, now);
  return "faults";
}

int main(void) {
  unsigned a, b, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (c >> 4 & 1) == 0) {
    puts("no protection keys here");
    return 0;
  }
  signal(SIGUSR1, handler);
  signal(SIGSEGV, handler);
  printf("at first: %x\n", rights());
  const int open = pkey_alloc(0, 0), no_store = pkey_alloc(0, PKEY_DISABLE_WRITE),
            no_access = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  printf("keys %d, %d, %d: %x\n", open, no_store, no_access, rights());
  printf("no such rights %d, no such flags %d\n", pkey_alloc(0, 4), pkey_alloc(1, 0));
  raise(SIGUSR1);
  printf("in a handler: %x, behind it: %x\n", in_handler, rights());
  printf("rcx: %s, %s; ", goes(0xEE, 1, 0), goes(0xEF, 1, 0));
  printf("rdx: %s, %s; upper halves: %s, %s\n", goes(0xEE, 0, 1), goes(0xEF, 0, 1), goes(0xEE, 1L << 32, ~0UL), goes(0xEF, 1L << 32, 0));
  volatile int* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(page != MAP_FAILED);
  const int keys[] = {open, no_store, no_access};
  for (int i = 0; i < 3; ++i) {
    GUEST_CHECK(pkey_mprotect((void*)page, 4096, PROT_READ | PROT_WRITE, keys[i]) == 0);
    printf("key %d: %s, ", keys[i], try("a load", page, 0));
    printf("%s\n", try("a store", page, 1));
  }
  fflush(stdout);
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  fflush(stdout);
  if (fork() == 0) {
    printf("in a child: %x\n", rights());
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  GUEST_CHECK(pkey_set(no_access, 0) == 0);
  printf("opened: %x, %s\n", rights(), try("a store", page, 1));
  GUEST_CHECK(pkey_free(no_access) == 0);
  printf("freed and taken again: key %d, %x\n", pkey_alloc(0, PKEY_DISABLE_ACCESS), rights());
  return 0;
}
