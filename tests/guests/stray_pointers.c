// Loads, stores and system calls at addresses that a program has nothing at: patterns that freed memory is filled with,
// round numbers, what lies beside a run's own memory. Each load and store is SIGSEGV at the instruction, with that
// address; each call is EFAULT. Natively so by nature; zeroskid has its own memory at such addresses.
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"

static sigjmp_buf back;
static volatile uintptr_t address, at;
static volatile int code;
static volatile long error;

static void on_fault(int signal, siginfo_t* info, void* context) {
  const ucontext_t* const state = context;
  (void)signal;
  address = (uintptr_t)info->si_addr;
  code = info->si_code;
  at = (uintptr_t)state->uc_mcontext.gregs[REG_RIP];
  error = state->uc_mcontext.gregs[REG_ERR];
  siglongjmp(back, 1);
}

extern const char stray_load[], stray_store[];
__attribute__((noinline)) static void load(uintptr_t from) {
  __asm__ volatile(".globl stray_load\nstray_load: movb (%0), %%al" ::"r"(from) : "rax");
}
__attribute__((noinline)) static void store(uintptr_t to) {
  __asm__ volatile(".globl stray_store\nstray_store: movb $65, (%0)" ::"r"(to) : "memory");
}

// returns whether `does` faults there as it does where nothing is mapped
static int faults(void (*does)(uintptr_t), const char* where, long expected, uintptr_t target) {
  if (sigsetjmp(back, 1) != 0) return address == target && code == SEGV_MAPERR && at == (uintptr_t)where && error == expected;
  does(target);
  return 0;
}

static int is_bad_address(long result) { return result == -1 && errno == EFAULT; }

// returns how many of the calls answer something else
static int calls(uintptr_t bad) {
  char* const there = (char*)bad;
  int pipes[2], sockets[2], wrong = 0;
  GUEST_CHECK(pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0 && write(pipes[1], "x", 1) == 1);
  const struct iovec piece = {there, 1};
  struct msghdr message = {.msg_iov = (struct iovec*)&piece, .msg_iovlen = 1};
  char* const words[] = {there, NULL};
  char* const none[] = {NULL};
  unsigned char one;
#define EXPECT_BAD(call)                                                      \
  if (!is_bad_address(call)) {                                                \
    printf("%#lx: %s: errno %d\n", (unsigned long)bad, #call, errno);         \
    ++wrong;                                                                  \
  }
  EXPECT_BAD(write(pipes[1], there, 1));
  EXPECT_BAD(read(pipes[0], there, 1));
  EXPECT_BAD(writev(pipes[1], &piece, 1));
  EXPECT_BAD(readv(pipes[0], &piece, 1));
  EXPECT_BAD(writev(pipes[1], (struct iovec*)there, 1));
  EXPECT_BAD(sendmsg(sockets[0], &message, 0));
  EXPECT_BAD(sendto(sockets[0], there, 1, 0, NULL, 0));
  EXPECT_BAD(open(there, O_RDONLY));
  EXPECT_BAD(fstat(0, (struct stat*)there));
  EXPECT_BAD(stat("/", (struct stat*)there));
  EXPECT_BAD(syscall(SYS_clock_gettime, CLOCK_REALTIME, there));
  EXPECT_BAD(syscall(SYS_rt_sigprocmask, SIG_BLOCK, there, NULL, 8));
  EXPECT_BAD(sigaltstack(NULL, (stack_t*)there));
  EXPECT_BAD(syscall(SYS_futex, bad & ~3ul, 0, 0, NULL));
  EXPECT_BAD(execve("/proc/self/exe", words, none));
  EXPECT_BAD(execve("/proc/self/exe", none, words));
  EXPECT_BAD(execve(there, none, none));
  EXPECT_BAD(process_vm_writev(getpid(), &(struct iovec){&one, 1}, 1, &piece, 1, 0));
#undef EXPECT_BAD
  if (mincore((void*)(bad & ~4095ul), 4096, &one) != -1 || errno != ENOMEM) ++wrong;
  if (msync((void*)(bad & ~4095ul), 4096, MS_ASYNC) != -1 || errno != ENOMEM) ++wrong;
  const int memory = open("/proc/self/mem", O_RDWR);
  if (pread(memory, &one, 1, (off_t)bad) != -1 || errno != EIO) ++wrong;
  if (lseek(memory, (off_t)bad, SEEK_SET) != (off_t)bad || write(memory, &one, 1) != -1 || errno != EIO) ++wrong;
  close(memory);
  for (int i = 0; i < 2; ++i) close(pipes[i]), close(sockets[i]);
  return wrong;
}

int main(int argc, char** argv) {
  // Else one start in two thousand has its heap at one of them.
  if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0) {
    GUEST_CHECK(argc > 0 && personality(ADDR_NO_RANDOMIZE) != -1);
    execv("/proc/self/exe", argv);
    GUEST_CHECK(!"reached");
  }
  static const uintptr_t kStray[] = {
      0x10000000, 0x11111111, 0x12345678, 0x20000000, 0x41414141, 0x50000000,  0x5a5a5a5a,  0x60000000,  0x70000000,
      0x80000000, 0x8badf00d, 0xa5a5a5a5, 0xabababab, 0xbaadf00d, 0xcafebabe,  0xcccccccc,  0xcdcdcdcd,  0xdeadbeef,
      0xdeadc0de, 0xefefefef, 0xfeedface, 0xfeeefeee, 0xffffffff, 0x100000000, 0x180000000, 0x200000000, 0x47fffffff};
  const struct sigaction on = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  GUEST_CHECK(sigaction(SIGSEGV, &on, NULL) == 0 && sigaction(SIGBUS, &on, NULL) == 0);
  for (size_t i = 0; i < sizeof kStray / sizeof *kStray; ++i) {
    const int loads = faults(load, stray_load, 4, kStray[i]), stores = faults(store, stray_store, 6, kStray[i]);
    printf("%#lx: load %d store %d, wrong calls %d\n", (unsigned long)kStray[i], loads, stores, calls(kStray[i]));
  }
  return 0;
}
