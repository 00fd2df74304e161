// A time stamp counter that faults (PR_SET_TSC): what RDTSC and RDTSCP are then, that code which has run before is held to it, in
// the threads and children of who asked for it and not in others, in strict mode and in another image too.
// build: static -O1 -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "seccomp.h"

static volatile int faults;
static void on_fault(int signal, siginfo_t* info, void* context) {
  greg_t* const regs = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uint8_t* const code = (const uint8_t*)regs[REG_RIP];
  const int length = code[1] == 0x31 ? 2 : 3;
  if (++faults <= 4)
    printf("signal %d code %d address %p trap %lld error %lld at %02x %02x, rax %llx\n", signal, info->si_code, info->si_addr,
           regs[REG_TRAPNO], regs[REG_ERR], code[0], code[1], regs[REG_RAX]);
  regs[REG_RAX] = regs[REG_RDX] = 0;
  regs[REG_RIP] += length;
}
static uint64_t rdtsc(void) {
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : "0"(0x77));
  return (uint64_t)high << 32 | low;
}
static uint64_t rdtscp(void) {
  uint32_t low, high;
  __asm__ volatile("rdtscp" : "=a"(low), "=d"(high) : "0"(0x88) : "rcx");
  return (uint64_t)high << 32 | low;
}
static const char* tells(uint64_t time) { return time != 0 ? "tells" : "0"; }
static int mode(void) {
  int mode = -1;
  GUEST_CHECK(prctl(PR_GET_TSC, &mode) == 0);
  return mode;
}
static void say(const char* who) {
  const char *const first = tells(rdtsc()), *const second = tells(rdtscp());
  printf("%s: mode %d, %s, %s, %d faults\n", who, mode(), first, second, faults);
}

static int turn[2], back[2];
static void* before(void* unused) {
  char byte;
  GUEST_CHECK(read(turn[0], &byte, 1) == 1);
  say("a thread from before");
  return unused;
}
static void* behind(void* unused) {
  say("a thread from behind");
  return unused;
}
static void of_others(void) {
  pthread_t first, second;
  GUEST_CHECK(pipe(turn) == 0 && pipe(back) == 0 && pthread_create(&first, NULL, before, NULL) == 0);
  GUEST_CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  GUEST_CHECK(write(turn[1], "", 1) == 1 && pthread_join(first, NULL) == 0);
  GUEST_CHECK(pthread_create(&second, NULL, behind, NULL) == 0 && pthread_join(second, NULL) == 0);
  say("who asked");
}
static void in_a_loop(void) {
  uint64_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i % 1000 == 500) GUEST_CHECK(prctl(PR_SET_TSC, i < 1000 ? PR_TSC_SIGSEGV : PR_TSC_ENABLE) == 0);
    sum += rdtsc() != 0;
  }
  printf("of 3000 told %d, faults %d\n", (int)sum, faults);
}
static void die(void) {
  signal(SIGSEGV, SIG_DFL);
  GUEST_CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  rdtscp();
}
static void strict(void) {
  signal(SIGSEGV, SIG_DFL);
  GUEST_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  rdtsc();
}
static void image(void) {
  GUEST_CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  execl("/no/such/file", "none", NULL);
  say("no other image");
  fflush(stdout);
  execl("/proc/self/exe", "rdtsc_faults", "again", NULL);
}

int main(int count, char** words) {
  (void)words;
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  GUEST_CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  say("at first");
  if (count > 1) return 0;
  printf("modes %ld %ld, nowhere %ld\n", (long)prctl(PR_SET_TSC, 0), (long)prctl(PR_SET_TSC, 3), (long)prctl(PR_GET_TSC, 16));
  in_child("others", of_others);
  in_child("a loop", in_a_loop);
  in_child("no handler", die);
  in_child("strict", strict);
  GUEST_CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  in_child("a child", image);
  GUEST_CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
  say("at the end");
  return 0;
}
