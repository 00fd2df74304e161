// userfaultfd as its users read it: poll says that there is a fault, and reading it (read, readv) does not wait
// (O_NONBLOCK). Who handles the faults is a process that shares the memory, or a thread.
// build: dynamic
// run: process
// run: thread
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kPages = 64, kRounds = 8 };
static int fd;
static char* area;
static volatile int nothing_there, answered, wrong;

// Touches all pages, again and again.
static int touch(void* unused) {
  (void)unused;
  for (int round = 0; round < kRounds; ++round) {
    for (int page = 0; page < kPages; ++page) wrong += area[page * 4096] != 'a' + page % 26;
    madvise(area, kPages * 4096, MADV_DONTNEED);
  }
  return 0;
}

static void* touch_in_thread(void* unused) {
  touch(unused);
  return unused;
}

static void answer(int faults) {
  static char page[4096] __attribute__((aligned(4096)));
  for (int seen = 0; seen < faults;) {
    struct pollfd one = {fd, POLLIN, 0};
    GUEST_CHECK(poll(&one, 1, 20000) == 1);
    if ((one.revents & POLLIN) == 0) continue;
    struct uffd_msg message;
    struct iovec whole = {&message, sizeof message};
    const ssize_t got = answered % 2 == 0 ? read(fd, &message, sizeof message) : readv(fd, &whole, 1);
    if (got < 0 && errno == EAGAIN) {
      ++nothing_there;
      continue;
    }
    GUEST_CHECK(got == sizeof message && message.event == UFFD_EVENT_PAGEFAULT);
    const unsigned long at = message.arg.pagefault.address & ~4095ul;
    memset(page, 'a' + (int)((at - (unsigned long)area) / 4096 % 26), sizeof page);
    struct uffdio_copy copy = {.dst = at, .src = (unsigned long)page, .len = 4096};
    GUEST_CHECK(ioctl(fd, UFFDIO_COPY, &copy) == 0);
    ++seen;
    ++answered;
  }
}

int main(int argc, char** argv) {
  fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    printf("no userfaultfd here: %s\n", strerror(errno));
    return 0;
  }
  struct uffdio_api api = {.api = UFFD_API};
  GUEST_CHECK(ioctl(fd, UFFDIO_API, &api) == 0);
  area = mmap(0, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(area != MAP_FAILED);
  struct uffdio_register all = {.range = {(unsigned long)area, kPages * 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  GUEST_CHECK(ioctl(fd, UFFDIO_REGISTER, &all) == 0);

  if (argc > 1 && strcmp(argv[1], "thread") == 0) {
    pthread_t thread;
    GUEST_CHECK(pthread_create(&thread, 0, touch_in_thread, 0) == 0);
    answer(kPages * kRounds);
    pthread_join(thread, 0);
  } else {
    static char stack[1 << 16] __attribute__((aligned(16)));
    const int child = clone(touch, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | SIGCHLD, 0);
    GUEST_CHECK(child > 0);
    answer(kPages * kRounds);
    GUEST_CHECK(waitpid(child, 0, 0) == child);
  }
  printf("%d answered, wrong %d, polled and not there %d\n", answered, wrong, nothing_there);
  return 0;
}
