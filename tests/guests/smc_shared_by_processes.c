// Code in memory that another process writes: a child changes what the parent runs, in the middle of its loops. Hot,
// because each version is called often, directly, through a pointer and by a jump from other shared code.
// build: dynamic -O1
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static void put(unsigned char* at, uint32_t value, int lengths) {
  // Of different lengths, so that every way of comparing is used: padded with NOPs of one byte.
  for (int i = 0; i < lengths; ++i) *at++ = 0x90;
  *at++ = 0xB8;  // mov eax, value
  memcpy(at, &value, 4);
  at[4] = 0xC3;  // ret
}

int main(void) {
  unsigned char* code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(code != MAP_FAILED);
  int ask[2], answer[2];
  GUEST_CHECK(pipe(ask) == 0 && pipe(answer) == 0);
  code[4096] = 0xE9;  // jmp to the first page
  const int32_t back = -4096 - 5;
  memcpy(code + 4097, &back, 4);
  put(code, 0, 0);
  const pid_t child = fork();
  if (child == 0) {
    uint32_t value;
    close(ask[1]);
    while (read(ask[0], &value, sizeof value) == sizeof value) {
      put(code, value, (int)(value % 20));
      if (write(answer[1], "", 1) != 1) _exit(1);
    }
    _exit(0);
  }
  GUEST_CHECK(mprotect(code, 8192, PROT_READ | PROT_EXEC) == 0);
  unsigned (*volatile direct)(void) = (unsigned (*)(void))(void*)code;
  unsigned (*volatile jumping)(void) = (unsigned (*)(void))(void*)(code + 4096);
  uint64_t sum = 0;
  for (uint32_t value = 0; value < 100; ++value) {
    char done;
    GUEST_CHECK(write(ask[1], &value, sizeof value) == sizeof value && read(answer[0], &done, 1) == 1);
    for (int i = 0; i < 2000; ++i) sum += direct() + jumping();
    GUEST_CHECK(direct() == value && jumping() == value);
  }
  close(ask[1]);
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child && status == 0);
  printf("%llu\n", (unsigned long long)sum);
}
