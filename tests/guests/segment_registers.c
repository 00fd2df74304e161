// FS and GS loaded and stored in every form: MOV, PUSH and POP, LFS and LGS, of registers and memory, of 16, 32 and 64
// bits, with null selectors, those of the segments that every process has, and what faults. The program's TLS is at FS,
// so each function that loads FS puts its base back before anything else is done.
// run:
// run: quietly
// build: dynamic -O1 -pthread -fno-stack-protector
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <asm/prctl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static __thread uint64_t local = 0x1234;
static uint64_t block[4] = {11, 22, 33, 44};
static sigjmp_buf back;
static char* odd;

static void on_fault(int signal, siginfo_t* info, void* context) {
  const ucontext_t* const at = context;
  const greg_t* const regs = at->uc_mcontext.gregs;
  printf("signal %d code %d trap %d error %x", signal, info->si_code, (int)regs[REG_TRAPNO], (int)regs[REG_ERR]);
  if (odd != NULL) printf(" %ld behind it", (long)((char*)info->si_addr - odd));
  puts("");
  odd = NULL;
  siglongjmp(back, 1);
}

static unsigned long base_of(int code) {
  unsigned long base = 1;
  GUEST_CHECK(syscall(SYS_arch_prctl, code, &base) == 0);
  return base;
}
static uint64_t gs(void) {
  uint64_t selector = ~UINT64_C(0);
  __asm__ volatile("mov %%gs, %0" : "+r"(selector));
  return selector;
}
static void load_gs(unsigned selector) { __asm__ volatile("mov %0, %%gs" ::"r"(selector)); }
static void set_gs_base(void) { GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, block) == 0); }

static void loads_gs(unsigned selector) {
  set_gs_base();
  printf("%2x: set %lx", selector, (unsigned long)gs());
  load_gs(selector);
  printf(", loaded %lx, base %lx\n", (unsigned long)gs(), base_of(ARCH_GET_GS));
}

// What FS is behind a load, seen before its base is put back.
static void loads_fs(uint16_t selector) {
  const unsigned long base = base_of(ARCH_GET_FS);
  uint64_t seen, pushed;
  long number = SYS_arch_prctl;
  __asm__ volatile("mov %w[selector], %%fs\n push %%fs\n pop %[pushed]\n mov %%fs, %[seen]\n syscall"
                   : [seen] "=&r"(seen), [pushed] "=&r"(pushed), "+a"(number)
                   : [selector] "r"(selector), "D"((long)ARCH_SET_FS), "S"(base)
                   : "rcx", "r11", "memory");
  uint64_t now = 1;
  __asm__ volatile("mov %%fs, %0" : "=r"(now));
  printf("fs %lx, pushed %lx, behind arch_prctl %lx, local %lx\n", (unsigned long)seen, (unsigned long)pushed,
         (unsigned long)now, (unsigned long)local);
}

// A null FS is saved and restored, as by tests of all instructions.
static void saves_and_restores(int rounds) {
  const unsigned long base = base_of(ARCH_GET_FS);
  long number = SYS_arch_prctl;
  uint64_t sum = 0;
  __asm__ volatile(
      "1: push %%fs\n add (%%rsp), %[sum]\n pop %%fs\n push %%gs\n add (%%rsp), %[sum]\n pop %%gs\n"
      "pushw %%gs\n popw %%fs\n decl %[rounds]\n jnz 1b\n syscall"
      : [sum] "+r"(sum), [rounds] "+r"(rounds), "+a"(number)
      : "D"((long)ARCH_SET_FS), "S"(base)
      : "rcx", "r11", "memory", "cc");
  printf("saved and restored: %lu, local %lx\n", (unsigned long)sum, (unsigned long)local);
}

static void forms(void) {
  uint64_t wide = ~UINT64_C(0), narrow = ~UINT64_C(0), word = ~UINT64_C(0), top = ~UINT64_C(0), memory = ~UINT64_C(0);
  load_gs(0x2b);
  __asm__ volatile("movq %%gs, %0\n movl %%gs, %k1\n movw %%gs, %w2" : "+r"(wide), "+r"(narrow), "+r"(word));
  __asm__ volatile("mov %%gs, %0" : "+m"(memory));
  __asm__ volatile(
      "lea -256(%%rsp), %%rsp\n push %0\n pushw %%gs\n popw %w0\n pop %1\n push %%gs\n pop %1\n"
      "lea 256(%%rsp), %%rsp"
      : "+r"(top), "+r"(wide));
  printf("%lx %lx %lx %lx %lx\n", wide, narrow, word, top, memory);
  const uint16_t in_memory[2] = {3, 0x2b};
  __asm__ volatile("mov %0, %%gs" ::"m"(in_memory[0]));
  printf("mov from memory: %lx\n", gs());
  struct __attribute__((packed)) {
    uint32_t offset;
    uint16_t selector, more[2];
  } far_pointer = {0x89abcdef, 0x2b, {0, 0}};
  uint64_t offset = ~UINT64_C(0);
  __asm__ volatile("lgs %1, %k0" : "+r"(offset) : "m"(far_pointer));
  printf("lgs: %lx, gs %lx\n", offset, gs());
  register uint64_t far_register __asm__("r13") = ~UINT64_C(0);
  far_pointer.offset = 0x00021234;
  __asm__ volatile("lgsw %1, %w0" : "+r"(far_register) : "m"(far_pointer));
  printf("lgs of 16 bits: %lx, gs %lx\n", far_register, gs());
  far_pointer.selector = 0;  // as a pointer of 32 bits, and of 64
  __asm__ volatile(".byte 0x48, 0x0F, 0xB5, 0x03" : "=a"(offset) : "b"(&far_pointer));
  printf("lgs with REX.W: %lx, gs %lx\n", offset, gs());
}

static void faults(void) {
  static const uint16_t kWrong[] = {0x4, 0x8, 0x10, 0x13, 0x18, 0x1b, 0x40, 0x48, 0x50, 0x63, 0x80, 0x1234, 0xFFFF};
  for (unsigned i = 0; i < sizeof kWrong / sizeof *kWrong; ++i) {
    load_gs(0x2b);
    if (sigsetjmp(back, 1) == 0) load_gs(kWrong[i]);
    printf("%x: gs %lx\n", kWrong[i], gs());
  }
  char* const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  odd = pages + 4096;
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("lgs (%0), %%eax" ::"r"(odd - 4) : "rax");
  odd = pages + 4096;
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("mov %%gs, (%0)" ::"r"(odd - 1) : "memory");
  odd = pages + 4096;
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("mov (%0), %%gs" ::"r"(odd));
  odd = pages;
  mprotect(pages, 4096, PROT_READ);
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("mov %%gs, 16(%0)" ::"r"(odd) : "memory");
  uint64_t stack;
  odd = pages + 4096;
  if (sigsetjmp(back, 1) == 0)
    __asm__ volatile("mov %%rsp, %0\n mov %1, %%rsp\n push %%gs\n mov %0, %%rsp"
                     : "=&r"(stack)
                     : "r"(odd + 8)
                     : "memory");
  odd = pages + 4096;
  if (sigsetjmp(back, 1) == 0)
    __asm__ volatile("mov %%rsp, %0\n mov %1, %%rsp\n pop %%gs\n mov %0, %%rsp" : "=&r"(stack) : "r"(odd) : "memory");
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("mov (%0), %%gs" ::"r"(UINT64_C(1) << 60));
}

// A segment of the program's own, where the kernel has modify_ldt.
static void own_segment(void) {
  struct user_desc entry = {.entry_number = 3, .base_addr = 0x10000, .limit = 0xFFFFF, .seg_32bit = 1};
  entry.limit_in_pages = entry.useable = 1;
  const unsigned selector = 3 << 3 | 4 | 3;
  if (syscall(SYS_modify_ldt, 1, &entry, sizeof entry) != 0) return (void)puts("no modify_ldt here");
  loads_gs(selector);
  entry.seg_not_present = 1;
  load_gs(0);
  GUEST_CHECK(syscall(SYS_modify_ldt, 1, &entry, sizeof entry) == 0);
  if (sigsetjmp(back, 1) == 0) load_gs(selector);
}

static void* in_thread(void* unused) {
  uint64_t fs;
  __asm__ volatile("mov %%fs, %0" : "=r"(fs));
  printf("thread: fs %lx gs %lx\n", fs, gs());
  load_gs(3);
  return unused;
}

// An argument: without faults, threads and children.
int main(int argc, char** argv) {
  (void)argv;
  static char stack[65536];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  static const unsigned kSelectors[] = {0, 1, 2, 3, 0x20, 0x23, 0x28, 0x2b, 0x33, 0x7b};
  for (unsigned i = 0; i < sizeof kSelectors / sizeof *kSelectors; ++i) loads_gs(kSelectors[i]);
  static const uint16_t kOfFs[] = {0, 3, 0x2b, 0x33};
  for (unsigned i = 0; i < sizeof kOfFs / sizeof *kOfFs; ++i) loads_fs(kOfFs[i]);
  set_gs_base();
  saves_and_restores(1000);
  forms();
  if (argc > 1) return 0;
  faults();
  own_segment();
  load_gs(0x2b);
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  printf("gs %lx\n", gs());
  fflush(stdout);
  if (fork() == 0) {
    printf("child: gs %lx base %lx\n", gs(), base_of(ARCH_GET_GS));
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  return 0;
}
