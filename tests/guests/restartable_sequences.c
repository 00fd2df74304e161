// Restartable sequences: what rseq() answers, which processor a thread reads, and sequences that begin anew: counters
// of processors that threads add to in several instructions, one that a signal interrupts, one that is described
// wrongly. Where the C library or the kernel has none, it says so.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kThreads = 4, kRounds = 20000, kProcessors = 4096, kSignature = 0x53053053, kSize = 32 };

struct area {
  uint32_t first_processor, processor;
  uint64_t sequence;
  uint32_t flags, node, more[2];
} __attribute__((aligned(32)));
struct sequence {
  uint32_t version, flags;
  uint64_t start, length, abort;
} __attribute__((aligned(32)));

extern const ptrdiff_t __rseq_offset __attribute__((weak));
static uint64_t counts[kProcessors];
static volatile sig_atomic_t handled;
static volatile uint64_t handled_at;
static struct area own;

static struct area* librarys_area(void) { return (struct area*)((char*)__builtin_thread_pointer() + __rseq_offset); }
static int call(void* area, unsigned size, int flags, unsigned signature) {
  return syscall(SYS_rseq, area, size, flags, signature) == 0 ? 0 : errno;
}

// Adds one to the counter of the processor it is on, with a pause between load and store; returns how often it began.
static int add_one(struct area* area) {
  for (int tries = 1;; ++tries) {
    int done = 0;
    __asm__ volatile(
        ".pushsection .data.sequences, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"
        "lea 3b(%%rip), %%rax\n mov %%rax, 8(%[area])\n"
        "1: mov 4(%[area]), %%ecx\n mov (%[counts], %%rcx, 8), %%rdx\n mov $40, %%eax\n 5: dec %%eax\n jnz 5b\n"
        "inc %%rdx\n mov %%rdx, (%[counts], %%rcx, 8)\n"
        "2: mov $1, %[done]\n jmp 6f\n"
        ".long 0x53053053\n 4: xor %[done], %[done]\n 6:"
        : [done] "+r"(done)
        : [area] "r"(area), [counts] "r"(counts)
        : "rax", "rcx", "rdx", "cc", "memory");
    if (done) return tries;
  }
}

static void* in_thread(void* unused) {
  for (int i = 0; i < kRounds; ++i) add_one(librarys_area());
  return unused;
}

static void add_in_threads(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, in_thread, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  uint64_t sum = 0;
  for (int i = 0; i < kProcessors; ++i) sum += counts[i];
  printf("counted %llu of %d\n", (unsigned long long)sum, kThreads * kRounds);
}

static void on_alarm(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  handled_at = (uint64_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  handled = 1;
}

// Stays in a sequence until a signal comes, which finds it where the sequence begins anew; or until anything else
// interrupts it, and then it tries again.
static void wait_in_sequence(struct area* area, int right) {
  static struct sequence described;
  uint64_t abort = 0;
  const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
  __asm__ volatile("lea 1f(%%rip), %0\n mov %0, %1\n lea 2f(%%rip), %0\n sub %1, %0\n mov %0, %2\n lea 4f(%%rip), %0"
                   "\n mov %0, %3\n jmp 6f\n"
                   "1: pause\n jmp 1b\n 2: ud2\n .long 0x53053053\n 4: ret\n 6:"
                   : "=&r"(abort), "=m"(described.start), "=m"(described.length), "=m"(described.abort)
                   :
                   : "memory");
  if (!right) described.abort += 1;
  handled_at = 0;
  for (int tries = 0; tries < 1000 && handled_at != abort; ++tries) {
    if (tries == 0 || handled) setitimer(ITIMER_REAL, &soon, NULL);
    handled = 0;
    area->sequence = (uint64_t)&described;
    __asm__ volatile("lea -256(%%rsp), %%rsp\n call *%0\n lea 256(%%rsp), %%rsp"
                     :
                     : "r"(described.start)
                     : "memory", "cc");
  }
  printf("interrupted by a signal: %d, sequence %llx\n", handled_at == abort, (unsigned long long)area->sequence);
}

static void answers(void) {
  struct area* const area = librarys_area();
  printf("another area %d, the same %d, ", call(&own, kSize, 0, kSignature), call(area, kSize, 0, kSignature));
  printf("another signature %d, unknown flags %d\n", call(area, kSize, 0, 1), call(area, kSize, 2, kSignature));
  printf("unregister: size %d, ", call(area, 64, 1, kSignature));
  printf("signature %d, area %d, ", call(area, kSize, 1, 1), call(&own, kSize, 1, kSignature));
  printf("right %d, ", call(area, kSize, 1, kSignature));
  printf("processor %d, again %d\n", (int)area->processor, call(area, kSize, 1, kSignature));
  printf("too small %d, misaligned %d, ", call(&own, 16, 0, 1), call((char*)&own + 8, kSize, 0, 1));
  printf("not the program's %d\n", call((void*)(UINT64_C(1) << 63), kSize, 0, 1));
}

static void says_where_it_is(void) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int right = 0, asked = 0;
  for (int i = 0; i < CPU_SETSIZE && asked < 8; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    GUEST_CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    ++asked;
    right += own.processor == (uint32_t)i && own.first_processor == (uint32_t)i && sched_getcpu() == i;
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  printf("on the processor it was put on: %s\n", right == asked ? "always" : "not always");
}

int main(void) {
  if (&__rseq_offset == NULL || (int)librarys_area()->processor < 0) {
    puts("no restartable sequences here");
    return 0;
  }
  add_in_threads();
  const struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
  sigaction(SIGALRM, &action, NULL);
  wait_in_sequence(librarys_area(), 1);
  fflush(stdout);
  int status;
  if (fork() == 0) {
    wait_in_sequence(librarys_area(), 0);
    _exit(0);
  }
  wait(&status);
  printf("described wrongly: signal %d\n", WTERMSIG(status));
  answers();
  printf("register %d, ", call(&own, kSize, 0, 7));
  printf("a processor %d\n", own.processor < kProcessors && own.processor == own.first_processor);
  says_where_it_is();
  fflush(stdout);
  if (fork() == 0) _exit(call(&own, kSize, 0, 7));
  wait(&status);
  printf("in a child: %d\n", WEXITSTATUS(status));
  return 0;
}
