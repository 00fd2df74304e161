// System calls by INT 80h, with the numbers and registers of 32-bit programs: what they answer, which registers they keep, what
// they take for an address, segments of the caller's own, what a filter of system calls is told, and the end by one of them.
// build: static -O1
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <sys/time.h>

#include "seccomp.h"

enum { kExit = 1, kFork = 2, kRead = 3, kWrite = 4, kClose = 6, kGetpid = 20, kPipe = 42, kSetThreadArea = 243, kGetThreadArea = 244 };

uint64_t kept[6];
static long call(uint64_t number, uint64_t first, uint64_t second, uint64_t third) {
  long result;
  __asm__ volatile(
      "mov $0x1111111111, %%r8; mov $0x2222222222, %%r9; mov $0x3333333333, %%r10; mov $0x4444444444, %%r11\n\t"
      "int $0x80\n\t"
      "mov %%rcx, kept(%%rip); mov %%r8, kept+8(%%rip); mov %%r9, kept+16(%%rip)\n\t"
      "mov %%r10, kept+24(%%rip); mov %%r11, kept+32(%%rip); mov %%rdx, kept+40(%%rip)"
      : "=a"(result), "+c"(second), "+d"(third)
      : "0"(number), "b"(first)
      : "r8", "r9", "r10", "r11", "memory");
  return result;
}
static uint64_t at(const void* object) { return (uint64_t)object; }

static char text[16];
static int ends[2];
static void answers(void) {
  static const char hello[] = "by an interrupt\n";
  printf("written %ld\n", call(kWrite, 1, at(hello), sizeof hello - 1));
  printf("kept %lx %lx %lx %lx %lx\n", kept[1], kept[2], kept[3], kept[4], kept[5]);
  printf(": in the low halves %ld\n", call(0x100000000 | kWrite, 0x500000001, 0x600000000 | at(hello), 0x700000000 | 3));
  const long id = call(kGetpid, 0, 0x5555555555, 0);
  printf("own id %d, kept %lx\n", id == getpid(), kept[0]);
  printf("pipe %ld", call(kPipe, at(ends), 0, 0));
  printf(" write %ld", call(kWrite, (uint64_t)ends[1], at("through"), 7));
  printf(" read %ld %s\n", call(kRead, (uint64_t)ends[0], at(text), 7), text);
  printf("others' numbers %ld %ld\n", syscall(-2L), syscall(-3L, text));
  printf("no descriptor %ld, nowhere %ld\n", call(kClose, 12345, 0, 0), call(kWrite, (uint64_t)ends[1], 16, 1));
}
static void interrupted(int signal) {
  (void)signal;
  GUEST_CHECK(write(ends[1], "late", 4) == 4);
}
static void made_again(void) {
  struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_RESTART};
  GUEST_CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval soon = {.it_value.tv_usec = 20000};
  GUEST_CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  printf("made again: %ld %.4s\n", call(kRead, (uint64_t)ends[0], at(text), 4), text);
}
static void segments(void) {
  static struct user_desc segment, read_back;
  static const uint32_t word = 0xABCD1234;
  segment = (struct user_desc){.entry_number = ~0u, .base_addr = (unsigned)at(&word), .limit = 0xFFFFF, .seg_32bit = 1,
                               .limit_in_pages = 1, .useable = 1};
  printf("segment %ld", call(kSetThreadArea, at(&segment), 0, 0));
  read_back.entry_number = segment.entry_number;
  printf(", read back %ld", call(kGetThreadArea, at(&read_back), 0, 0));
  uint32_t loaded;
  __asm__ volatile("mov %1, %%gs; mov %%gs:0, %0; mov %2, %%gs" : "=r"(loaded) : "r"(segment.entry_number * 8 | 3), "r"(0));
  printf(" %d, loaded %x\n", memcmp(&segment, &read_back, sizeof segment) == 0, loaded);
  printf("no segment %ld, nowhere %ld\n", call(kSetThreadArea, 4096, 0, 0), call(kGetThreadArea, 4096, 0, 0));
}
static void on_sigsys(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  printf("filtered: call %d of %x\n", info->si_syscall, info->si_arch == AUDIT_ARCH_I386);
}
static void filtered(void) {
  struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
  GUEST_CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  answer_call(kGetpid, SECCOMP_RET_TRAP, 0);
  call(kGetpid, 0, 0, 0);
}
static void strict(void) {
  GUEST_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  call(kWrite, 1, at("strict\n"), 7);
  call(kExit, 3, 0, 0);
}

static void child(void) {
  int status = 0;
  const long made = call(kFork, 0, 0, 0);
  if (made == 0) call(kExit, 7, 0, 0);
  GUEST_CHECK(waitpid((pid_t)made, &status, 0) == made);
  printf("forked, exit %d\n", WEXITSTATUS(status));
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  answers();
  made_again();
  segments();
  in_child("strict", strict);
  in_child("a child of its own", child);
  filtered();
  call(kExit, 42, 0, 0);
}
