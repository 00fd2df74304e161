// A process that shares the program's memory stops its thread, looks at its registers and memory, and lets it go on, as leak checkers do at a
// program's end. The traced thread is stopped somewhere in a loop of its own.
// build: dynamic
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile int ready, done;
static unsigned long word = 0x1122334455667788;
static char* low;
static pid_t traced;

static void look(const char* how) {
  int status = 0;
  GUEST_CHECK(waitpid(traced, &status, __WALL) == traced);
  printf("%s: stopped by %d, event %d\n", how, WSTOPSIG(status), status >> 16);
  struct user_regs_struct regs, again;
  GUEST_CHECK(ptrace(PTRACE_GETREGS, traced, 0, &regs) == 0);
  struct iovec room = {&again, sizeof again};
  GUEST_CHECK(ptrace(PTRACE_GETREGSET, traced, NT_PRSTATUS, &room) == 0);
  printf("same registers %d, stack pointer on its stack %d, r12 %llx\n",
         room.iov_len == sizeof regs && regs.rsp == again.rsp && regs.rip == again.rip,
         (char*)regs.rsp > low && (char*)regs.rsp < low + (1 << 20), (unsigned long long)regs.r12);
  static char vectors[1 << 14];
  room = (struct iovec){vectors, sizeof vectors};
  GUEST_CHECK(ptrace(PTRACE_GETREGSET, traced, NT_X86_XSTATE, &room) == 0);
  printf("xmm9 %llx\n", *(unsigned long long*)(vectors + 160 + 9 * 16));
  errno = 0;
  printf("word %lx %d\n", ptrace(PTRACE_PEEKDATA, traced, &word, 0), errno);
}

static int tracer(void* unused) {
  while (!ready) sched_yield();
  GUEST_CHECK(ptrace(PTRACE_ATTACH, traced, 0, 0) == 0);
  look("attached");
  GUEST_CHECK(ptrace(PTRACE_POKEDATA, traced, &word, 5) == 0);
  GUEST_CHECK(ptrace(PTRACE_DETACH, traced, 0, 0) == 0);
  printf("detached, word %ld, %d\n", word, ptrace(PTRACE_CONT, traced, 0, 0) == -1 && errno == ESRCH);
  GUEST_CHECK(ptrace(PTRACE_SEIZE, traced, 0, 0) == 0);
  GUEST_CHECK(ptrace(PTRACE_INTERRUPT, traced, 0, 0) == 0);
  look("interrupted");
  fflush(stdout);
  done = 1;
  return (int)(long)unused + 7;  // what it traced goes on
}

int main(void) {
  static char stack[1 << 18];
  low = (char*)__builtin_frame_address(0) - (1 << 19);
  traced = getpid();
  const pid_t child = clone(tracer, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, 0);
  GUEST_CHECK(child > 0);
  __asm__ volatile(
      "mov $0x1234567, %%r12\n\tmovq %%r12, %%xmm9\n\tmovl $1, %1\n"
      "1:\tmov $24, %%eax\n\tsyscall\n\tcmpl $0, %0\n\tje 1b" ::"m"(done),
      "m"(ready)
      : "rax", "rcx", "r11", "r12", "xmm9", "memory", "cc");
  int status = 0;
  GUEST_CHECK(waitpid(child, &status, __WALL) == child);
  printf("status %d\n", WEXITSTATUS(status));
  return 0;
}
