// userfaultfd: a thread of the program puts pages in place when another one touches them, in code, in system calls, and with every kind of
// access; pages that are write-protected until somebody writes, and code that comes when it is called.
// build: dynamic
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "guest.h"

enum { kPages = 96 };
static int fd;
static char* area;
static volatile int answered, alarms;

static void* answer(void* unused) {
  static char page[4096] __attribute__((aligned(4096)));
  for (;;) {
    struct uffd_msg message;
    struct pollfd one = {fd, POLLIN, 0};
    poll(&one, 1, -1);
    if (read(fd, &message, sizeof message) != sizeof message) continue;
    const unsigned long at = message.arg.pagefault.address & ~4095ul;
    memset(page, 'a' + (int)((at - (unsigned long)area) / 4096 % 26), sizeof page);
    page[0] = (char)0xC3;  // RET
    if (at == (unsigned long)area + 80 * 4096) usleep(30000);
    struct uffdio_copy copy = {.dst = at, .src = (unsigned long)page, .len = 4096};
    ++answered;
    GUEST_CHECK(ioctl(fd, UFFDIO_COPY, &copy) == 0);
  }
  return unused;
}

static void* compute(void* unused) {  // a third thread, which never waits
  volatile long n = 0;
  for (;;) ++n;
  return unused;
}

static void on_alarm(int signal) { alarms += signal != 0; }

int main(void) {
  setvbuf(stdout, 0, _IOLBF, 0);
  fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {  // not allowed here: nothing to compare
    puts("no userfaultfd");
    return 0;
  }
  struct uffdio_api api = {.api = UFFD_API};
  GUEST_CHECK(ioctl(fd, UFFDIO_API, &api) == 0);
  area = mmap(0, kPages * 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register range = {.range = {(unsigned long)area, kPages * 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  GUEST_CHECK(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
  pthread_t thread;
  pthread_create(&thread, 0, answer, 0);
  long sum = 0;
  for (int i = 0; i < 32; ++i) sum = sum * 31 + area[i * 4096 + i + 1];
  printf("read one by one: %ld, %d answers\n", sum, answered);
  pthread_create(&thread, 0, compute, 0);
  for (int i = 32; i < 40; ++i) area[i * 4096 + 5] = (char)i;
  printf("written: %d %c, %d answers\n", area[33 * 4096 + 5], area[33 * 4096 + 6], answered);
  memcpy(area + 40 * 4096 + 100, area + 45 * 4096 + 100, 3 * 4096);
  printf("copied: %c, %d answers\n", area[41 * 4096], answered);
  int ends[2];
  GUEST_CHECK(pipe(ends) == 0 && write(ends[1], area + 50 * 4096, 3) == 3);
  GUEST_CHECK(read(ends[0], area + 51 * 4096 - 1, 3) == 3);
  printf("in system calls: %02x %c, %d answers\n", area[50 * 4096 + 4095] & 255, area[51 * 4096 + 1], answered);
  ((void (*)(void))(area + 60 * 4096))();
  printf("called, %d answers\n", answered);
  __asm__ volatile("push (%0); pop %%rax" ::"r"(area + 61 * 4096) : "rax", "memory");
  __asm__ volatile("lock incq (%0); btsq $3, 8(%0)" ::"r"(area + 62 * 4096 - 4) : "memory");
  printf("read, modified, written: %d answers\n", answered);
  sigset_t* const set = (sigset_t*)(area + 70 * 4096 + 8);
  GUEST_CHECK(sigprocmask(SIG_BLOCK, 0, set) == 0);
  struct sigaction action = {.sa_handler = on_alarm};
  memcpy(area + 71 * 4096 + 8, &action, sizeof action);
  GUEST_CHECK(sigaction(SIGALRM, (struct sigaction*)(area + 71 * 4096 + 8), 0) == 0);
  printf("arguments, %d answers\n", answered);
  const struct itimerval soon = {{0, 0}, {0, 5000}};
  setitimer(ITIMER_REAL, &soon, 0);
  const char late = *(volatile char*)(area + 80 * 4096 + 1);  // longer than the timer
  printf("late: %c, %d answers, a signal meanwhile %d\n", late, answered, alarms);
  return 0;
}
