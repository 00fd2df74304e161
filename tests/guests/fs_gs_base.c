// FS and GS: TLS keeps working while the program moves its segment bases, by instruction and by arch_prctl.
// build: dynamic -O1 -pthread
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

static __thread uint64_t local = 0x1234;
static uint64_t block[16] = {11, 22, 33, 44};

static uint64_t gs_word(uint64_t offset) {
  uint64_t value;
  __asm__ volatile("mov %%gs:(%1), %0" : "=r"(value) : "r"(offset));
  return value;
}
static void* in_thread(void* unused) {
  (void)unused;
  unsigned long gs = 1;
  syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
  printf("thread: gs inherited %d, local %llx\n", gs == (unsigned long)&block[1], (unsigned long long)local);
  syscall(SYS_arch_prctl, ARCH_SET_GS, &block[2]);
  printf("thread: gs:8 = %llu\n", (unsigned long long)gs_word(8));
  return NULL;
}

int main(void) {
  local += 1;
  unsigned long fs = 0, gs = 0;
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &fs) == 0);
  GUEST_CHECK(*(unsigned long*)fs == fs);  // the thread control block points at itself
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, &block[1]) == 0);
  printf("gs:0 = %llu gs:16 = %llu\n", (unsigned long long)gs_word(0), (unsigned long long)gs_word(16));
  __asm__ volatile("movq $77, %%gs:8; addq $1, %%gs:(%0); lock incq %%gs:16" ::"r"(0L) : "memory");
  printf("%llu %llu %llu\n", (unsigned long long)block[1], (unsigned long long)block[2], (unsigned long long)block[3]);
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
  printf("main: gs kept %d, local %llx\n", gs == (unsigned long)&block[1], (unsigned long long)local);
  if (getauxval(AT_HWCAP2) & 2) {
    unsigned long base;
    __asm__ volatile("rdfsbase %0" : "=r"(base));
    printf("rdfsbase %d\n", base == fs);
    __asm__ volatile("wrgsbase %0" ::"r"(&block[3]));
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    printf("wrgsbase %d gs:0 = %llu\n", base == (unsigned long)&block[3], (unsigned long long)gs_word(0));
    uint64_t fake[4] = {5, 6, 7, 8}, seen;
    __asm__ volatile("wrfsbase %1; mov %%fs:16, %0; wrfsbase %2" : "=&r"(seen) : "r"(fake), "r"(fs) : "memory");
    printf("wrfsbase fs:16 = %llu local %llx\n", (unsigned long long)seen, (unsigned long long)local);
  }
  return 0;
}
