// Syscall user dispatch: calls that the program has asked to be told of instead (SIGSYS), by the byte that it switches, by where
// they are made and by INT 80h; what the kernel takes for a range, and what a wrong byte or none at all ends; threads, children and
// other images begin without it.
// build: static -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "seccomp.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
enum { kOff, kOn, kInclusive, kAllow = 0, kBlock = 1 };

static volatile char selector = kAllow;
static int told;

static long dispatch(long mode, uint64_t from, uint64_t size, volatile char* byte) {
  return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, from, size, byte) == 0 ? 0 : -errno;
}
extern char call_begin[], call_end[];
__attribute__((noinline)) static long call(long number, long argument) {
  long result;
  __asm__ volatile("call_begin: syscall\n\t.globl call_begin, call_end\ncall_end: nop"
                   : "=a"(result) : "0"(number), "D"(argument) : "rcx", "r11", "memory");
  return result;
}
static void on_sigsys(int signal, siginfo_t* info, void* context) {
  ucontext_t* const uc = context;
  greg_t* const regs = uc->uc_mcontext.gregs;
  const char before = selector;
  selector = kAllow;
  ++told;
  printf("signal %d code %d errno %d syscall %d arch %x; rax %lld rdi %lld; behind %d %d; selector %d\n", signal, info->si_code,
         info->si_errno, info->si_syscall, info->si_arch, regs[REG_RAX], regs[REG_RDI], info->si_call_addr == call_end,
         regs[REG_RIP] == (greg_t)info->si_call_addr, before);
  regs[REG_RAX] = 42;
}
static void handle(void) {
  struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
  GUEST_CHECK(sigaction(SIGSYS, &action, NULL) == 0);
}
static long blocked(long number, long argument) {
  selector = kBlock;
  const long result = call(number, argument);
  selector = kAllow;
  return result;
}

static void by_selector(void) {
  handle();
  GUEST_CHECK(dispatch(kOn, 0, 0, &selector) == 0);
  printf("told: %ld\n", blocked(SYS_close, 77));
  printf("no such call: %ld\n", blocked(kNoCall, 1));
  printf("allowed: %ld\n", call(SYS_close, 77));
  selector = kBlock;
  long result = 20;
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(3), "D"(9) : "memory", "r8", "r9", "r10", "r11");
  selector = kAllow;
  printf("by an interrupt: %ld\n", result);
  GUEST_CHECK(dispatch(kOff, 0, 0, NULL) == 0);
  printf("off: %ld, told of %d\n", blocked(SYS_close, 77), told);
}
static void by_place(void) {
  handle();
  const uint64_t begin = (uint64_t)call_begin, end = (uint64_t)call_end;
  GUEST_CHECK(dispatch(kOn, begin, end + 1 - begin, &selector) == 0);
  printf("in the range: %ld\n", blocked(SYS_close, 77));
  selector = kBlock;
  const long outside = syscall(SYS_close, 77);
  printf("outside: %ld\n", outside);
  GUEST_CHECK(dispatch(kOn, begin, end - begin, &selector) == 0);
  printf("at the end of the range: %ld\n", blocked(SYS_close, 77));
}
static void arguments(void) {
  char* const beyond = (char*)0x800000000000;
  const struct {
    long mode;
    uint64_t from, size;
    volatile char* byte;
  } kAsked[] = {{kOff, 1, 0, NULL}, {kOff, 0, 0, &selector}, {kOn, 16, 0, &selector}, {kOn, 16, -16, &selector}, {kOn, 0, 0, beyond},
                {kOn, 16, 32, NULL}, {kOn, 16, 0, beyond}, {5, 0, 0, NULL}, {-1, 0, 0, NULL}};
  for (size_t i = 0; i < sizeof kAsked / sizeof *kAsked; ++i) {
    if (kAsked[i].mode == kOn && kAsked[i].byte == NULL) continue;
    printf("%zu: %ld\n", i, dispatch(kAsked[i].mode, kAsked[i].from, kAsked[i].size, kAsked[i].byte));
  }
}
static void always(void) {
  handle();
  GUEST_CHECK(dispatch(kOn, (uint64_t)call_begin, 16, NULL) == 0);
  call(SYS_exit_group, 5);
}
static void wrong_byte(void) {
  handle();
  GUEST_CHECK(dispatch(kOn, 0, 0, &selector) == 0);
  selector = 2;
  call(SYS_close, 77);
}
static void no_byte(void) {
  handle();
  signal(SIGSEGV, SIG_IGN);
  volatile char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(dispatch(kOn, 0, 0, page) == 0);
  munmap((void*)page, 4096);
  call(SYS_close, 77);
}
static void ignored(void) {
  signal(SIGSYS, SIG_IGN);
  GUEST_CHECK(dispatch(kOn, 0, 0, &selector) == 0);
  blocked(SYS_close, 77);
}
static void in_front_of_filters(void) {
  handle();
  answer_call(SYS_close, SECCOMP_RET_KILL_PROCESS, 0);
  GUEST_CHECK(dispatch(kOn, 0, 0, &selector) == 0);
  printf("not filtered: %ld\n", blocked(SYS_close, 77));
  fflush(stdout);
  call(SYS_close, 77);
}
// The other thread makes no call while the byte is set.
static volatile int waits, done;
static void* thread(void* unused) {
  while (!waits) {}
  printf("thread: %ld\n", blocked(SYS_close, 77));
  done = 1;
  return unused;
}
static void not_inherited(void) {
  handle();
  GUEST_CHECK(dispatch(kOn, 0, 0, &selector) == 0);
  pthread_t other;
  GUEST_CHECK(pthread_create(&other, NULL, thread, NULL) == 0);
  waits = 1;
  while (!done) {}
  GUEST_CHECK(pthread_join(other, NULL) == 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("child: %ld\n", blocked(SYS_close, 77));
    fflush(stdout);
    selector = kBlock;
    execl("/proc/self/exe", "call_dispatch", "again", NULL);
  }
  GUEST_CHECK(waitpid(child, NULL, 0) == child);
  printf("still: %ld\n", blocked(SYS_close, 77));
  fflush(stdout);
  execl("/proc/self/exe", "call_dispatch", "again", NULL);
}

int main(int count, char** words) {
  (void)words;
  if (count > 1) {
    printf("in another image: %ld\n", blocked(SYS_close, 77));
    return 0;
  }
  in_child("by a byte", by_selector);
  in_child("by place", by_place);
  in_child("arguments", arguments);
  in_child("always but in a range", always);
  in_child("a wrong byte", wrong_byte);
  in_child("no byte", no_byte);
  in_child("ignored", ignored);
  in_child("in front of filters", in_front_of_filters);
  in_child("not inherited", not_inherited);
  return 0;
}
