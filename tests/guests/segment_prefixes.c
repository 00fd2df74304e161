// FS and GS prefixes in every kind of instruction that can have one, as programs with their own thread blocks use them.
// build: dynamic -O1 -pthread -mavx2
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"

struct block {
  struct block* self;
  uint64_t words[32];
  void* target;
  uint8_t table[256];
};
static struct block blocks[3];
static volatile int handled;

static uint64_t base_of(int code) {
  unsigned long base = 0;
  syscall(SYS_arch_prctl, code, &base);
  return base;
}
static void set_base(int code, const void* base) { GUEST_CHECK(syscall(SYS_arch_prctl, code, base) == 0); }

static uint64_t called(void) { return 0x777; }

#define FORMS(seg)                                                                                                   \
  static void forms_##seg(const char* name, struct block* b, uint64_t base) {                                       \
    const uint64_t off = (uint64_t)b - base;                                                                         \
    uint64_t a = 0, c = 0, d = 0;                                                                                    \
    uint8_t copy[24];                                                                                                \
    __asm__ volatile("movq %%" #seg ":8(%1), %0" : "=r"(a) : "r"(off));                                             \
    __asm__ volatile("addq $5, %%" #seg ":16(%0); lock xaddq %1, %%" #seg ":24(%0)" : "+r"((uint64_t){off}), "+r"(c) \
                     :: "memory");                                                                                   \
    __asm__ volatile("push %%" #seg ":8(%1); pop %0" : "=r"(d) : "r"(off));                                          \
    printf("%s: %llx %llx %llx %llx\n", name, (unsigned long long)a, (unsigned long long)b->words[1],                \
           (unsigned long long)c, (unsigned long long)d);                                                            \
    __asm__ volatile("mov %1, %%r11; movq %%" #seg ":(%%r11), %0" : "=r"(a) : "r"(off) : "r11");                     \
    printf("%s: self %d\n", name, a == (uint64_t)b->self);                                                           \
    uint64_t from = off + 8, count = sizeof copy;                                                                    \
    uint8_t* to = copy;                                                                                              \
    __asm__ volatile(".byte 0xF3; movsb %%" #seg ":(%%rsi), %%es:(%%rdi)"                                            \
                     : "+S"(from), "+D"(to), "+c"(count)::"memory");                                                 \
    printf("%s: string %d left %llu\n", name, memcmp(copy, b->words, sizeof copy), (unsigned long long)count);        \
    uint64_t al = 7, rbx = off + offsetof(struct block, table);                                                      \
    __asm__ volatile(".byte " PREFIX_##seg "; xlat" : "+a"(al) : "b"(rbx));                                          \
    printf("%s: xlat %llu\n", name, (unsigned long long)al);                                                         \
    __asm__ volatile("sub $128, %%rsp; call *%%" #seg ":(%1); add $128, %%rsp"                                       \
                     : "=a"(a)                                                                                       \
                     : "r"(off + offsetof(struct block, target))                                                     \
                     : "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");                              \
    printf("%s: call %llx\n", name, (unsigned long long)a);                                                          \
    __asm__ volatile(".byte " PREFIX_##seg "; leaq 3(%1), %0; .byte " PREFIX_##seg "; nopl (%1)" : "=r"(a) : "r"(off));           \
    printf("%s: lea %d\n", name, a == off + 3);                                                                      \
    uint64_t out[4];                                                                                                 \
    __asm__ volatile("vmovdqu %%" #seg ":8(%1), %%ymm3; vpaddq %%" #seg ":8(%1), %%ymm3, %%ymm3; vmovdqu %%ymm3, %0" \
                     : "=m"(out)                                                                                     \
                     : "r"(off)                                                                                      \
                     : "xmm3");                                                                                      \
    printf("%s: vector %llx %llx\n", name, (unsigned long long)out[0], (unsigned long long)out[3]);                  \
    const uint64_t low[2] = {0, 2};                                                                                  \
    __asm__ volatile("vmovdqu %2, %%xmm4; vpcmpeqd %%xmm5, %%xmm5, %%xmm5;"                                          \
                     "vpgatherqq %%xmm5, %%" #seg ":8(%1,%%xmm4,8), %%xmm3; vmovdqu %%xmm3, %0"                      \
                     : "=m"(out)                                                                                     \
                     : "r"(off), "m"(low)                                                                            \
                     : "xmm3", "xmm4", "xmm5");                                                                      \
    printf("%s: gather %llx %llx\n", name, (unsigned long long)out[0], (unsigned long long)out[1]);                  \
    uint64_t sum = 0;                                                                                                \
    for (uint64_t i = 0; i < 1000; ++i) {                                                                            \
      uint64_t v;                                                                                                    \
      __asm__ volatile("movq %%" #seg ":8(%1,%2,8), %0" : "=r"(v) : "r"(off), "r"(i % 32));                          \
      sum += v * i;                                                                                                  \
    }                                                                                                                \
    printf("%s: loop %llx\n", name, (unsigned long long)sum);                                                        \
  }
#define PREFIX_fs "0x64"
#define PREFIX_gs "0x65"
FORMS(fs)
FORMS(gs)

static void fill(struct block* b, uint64_t first) {
  b->self = b;
  for (int i = 0; i < 32; ++i) b->words[i] = first + (uint64_t)i;
  for (int i = 0; i < 256; ++i) b->table[i] = (uint8_t)(255 - i);
  b->target = (void*)called;
}

static void handler(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  ucontext_t* uc = context;
  uint64_t word;
  __asm__ volatile("movq %%gs:8, %0" : "=r"(word));
  printf("handler: gs word %llx\n", (unsigned long long)word);
  ++handled;
  uc->uc_mcontext.gregs[REG_RIP] += 4;  // movq %gs:(reg), %rax
}

static void* in_thread(void* unused) {
  (void)unused;
  fill(&blocks[2], 0x3000);
  set_base(ARCH_SET_GS, &blocks[2]);
  forms_gs("thread gs", &blocks[2], (uint64_t)&blocks[2]);
  return NULL;
}

int main(void) {
  if (!__builtin_cpu_supports("avx2")) {
    puts("no AVX2");
    return 0;
  }
  const uint64_t fs = base_of(ARCH_GET_FS);
  fill(&blocks[0], 0x1000);
  forms_fs("fs", &blocks[0], fs);
  forms_gs("gs 0", &blocks[0], 0);
  set_base(ARCH_SET_GS, &blocks[1]);
  fill(&blocks[1], 0x2000);
  forms_gs("gs", &blocks[1], (uint64_t)&blocks[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  printf("gs kept %d fs kept %d\n", base_of(ARCH_GET_GS) == (uint64_t)&blocks[1], base_of(ARCH_GET_FS) == fs);

  // A fault through GS, and a handler that uses it.
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  __asm__ volatile("movq %%gs:(%0), %%rax" ::"c"(0x10000000000UL - (uint64_t)&blocks[1]) : "rax", "memory");
  printf("after the fault: %d\n", handled);

  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    uint64_t word;
    __asm__ volatile("movq %%gs:8, %0" : "=r"(word));
    _exit(word == 0x2000 ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %d\n", WEXITSTATUS(status));
  // The kernel refuses addresses that are not the program's.
  printf("refused: %ld %ld\n", syscall(SYS_arch_prctl, ARCH_SET_GS, ~0UL), syscall(SYS_arch_prctl, ARCH_SET_FS, ~0UL));
  unsigned selector = 99;
  __asm__ volatile("mov %%gs, %0" : "=r"(selector));
  printf("selector %u\n", selector);
  return 0;
}
