// The kernel writes where code has run: buffers that begin before, in, at the end of and behind a page with translations.
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 4, kBytes = kPages * kPage, kCodePage = 2 };

static unsigned char* memory;
static unsigned char pattern[kBytes];

// mov eax, value; ret
static void put(unsigned char* at, int value) {
  at[0] = 0xB8;
  memcpy(at + 1, &value, sizeof value);
  at[5] = 0xC3;
}
static int run(unsigned char* at) { return ((int (*)(void))(void*)at)(); }

// Code has run at both ends and in the middle of the page.
static void have_run(void) {
  unsigned char* const page = memory + kCodePage * kPage;
  const int places[] = {0, 2048, kPage - 6};
  for (int i = 0; i < 3; ++i) {
    put(page + places[i], 7 + i);
    if (run(page + places[i]) != 7 + i) abort();
  }
}

static void show(const char* what, long offset, long result) {
  unsigned sum = 0;
  for (int i = 0; i < kBytes; ++i) sum = sum * 31 + memory[i];
  printf("%s at %ld: %ld errno %d, memory %08x\n", what, offset, result, result < 0 ? errno : 0, sum);
}

static const long kOffsets[] = {0, 4096, 8000, 8191, 8192, 8193, 10240, 12280, 12287, 12288};

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int file = memfd_create("pattern", 0);
  for (int i = 0; i < kPages; ++i) put(pattern + i * kPage, 100 + i);
  for (int i = 64; i < kBytes; ++i) {
    if (i % kPage > 64) pattern[i] = (unsigned char)(i * 7 + i / 256);
  }
  if (write(file, pattern, kBytes) != kBytes) return 1;
  aio_context_t context = 0;
  if (syscall(SYS_io_setup, 4, &context) != 0) return 1;
  for (unsigned o = 0; o < sizeof kOffsets / sizeof *kOffsets; ++o) {
    const long offset = kOffsets[o], rest = kBytes - offset;
    unsigned char* const buffer = memory + offset;
    memset(memory, 0, kBytes);
    have_run();
    lseek(file, 0, SEEK_SET);
    show("read", offset, read(file, buffer, (size_t)rest));
    have_run();
    show("pread", offset, pread(file, buffer, (size_t)rest, 0));
    have_run();
    struct iovec vectors[2] = {{buffer, 8}, {buffer + 8, (size_t)rest - 8}};
    show("preadv", offset, preadv(file, vectors, 2, 0));
    for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; ++type) {
      int ends[2];
      if (type == SOCK_RAW || type == SOCK_RDM || socketpair(AF_UNIX, type, 0, ends) != 0) continue;
      const struct timeval soon = {1, 0};
      setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
      have_run();
      if (write(ends[0], pattern, (size_t)rest) != rest) return 1;
      show("recv", offset, recv(ends[1], buffer, (size_t)rest, type == SOCK_STREAM ? MSG_WAITALL : 0));
      have_run();
      if (write(ends[0], pattern, (size_t)rest) != rest) return 1;
      struct msghdr header = {.msg_iov = vectors, .msg_iovlen = 2};
      show("recvmsg", offset, recvmsg(ends[1], &header, type == SOCK_STREAM ? MSG_WAITALL : 0));
      close(ends[0]);
      close(ends[1]);
    }
    int pipe_ends[2];
    have_run();
    show("pipe", 0, pipe(pipe_ends));
    if (write(pipe_ends[1], pattern, (size_t)rest) != rest) return 1;
    have_run();
    show("read of a pipe", offset, read(pipe_ends[0], buffer, (size_t)rest));
    if (write(pipe_ends[1], "abc", 3) != 3) return 1;
    have_run();
    int ready = 0;
    show("FIONREAD", offset, ioctl(pipe_ends[0], FIONREAD, offset % 4 == 0 && rest >= 4 ? (int*)buffer : &ready));
    have_run();
    struct iocb block = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (unsigned)file, .aio_buf = (__u64)buffer,
                         .aio_nbytes = (__u64)rest};
    struct iocb* blocks[] = {&block};
    struct io_event event;
    show("io_submit", offset, syscall(SYS_io_submit, context, 1, blocks));
    const long events = syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
    show("its event", offset, events == 1 ? (long)event.res : events);
    // Structures, where there is room; what they hold differs from run to run.
    if (rest >= 512) {
      struct utsname* const name = (struct utsname*)buffer;
      have_run();
      printf("uname %d %s\n", uname(name), name->sysname);
      have_run();
      printf("stat %d", fstat(file, (struct stat*)buffer));
      struct stat about;
      memcpy(&about, buffer, sizeof about);
      printf(" %ld\n", (long)about.st_size);
      have_run();
      printf("clock_gettime %d", clock_gettime(CLOCK_MONOTONIC, (struct timespec*)buffer));
      have_run();
      printf(" getrlimit %d", getrlimit(RLIMIT_CORE, (struct rlimit*)buffer));
      have_run();
      printf(" getrusage %d", getrusage(RUSAGE_SELF, (struct rusage*)buffer));
      have_run();
      printf(" sched_getaffinity %d\n", sched_getaffinity(0, 128, (cpu_set_t*)buffer));
      have_run();
      printf("getcwd %d", getcwd((char*)buffer, 500) != NULL);
      have_run();
      printf(" readlink %d", readlink("/proc/self/exe", (char*)buffer, 500) > 0);
      have_run();
      printf(" getrandom %zd\n", getrandom(buffer, 200, 0));
      have_run();
      sigset_t* const set = (sigset_t*)buffer;
      printf("sigprocmask %ld", syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, set, 8));
      have_run();
      printf(" sigaction %ld", syscall(SYS_rt_sigaction, SIGUSR1, NULL, buffer, 8));
      const pid_t child = fork();
      if (child == 0) _exit(5);
      have_run();
      printf(" waitpid %d", waitpid(child, (int*)buffer, 0) == child);
      int status;
      memcpy(&status, buffer, sizeof status);
      printf(" %d\n", WEXITSTATUS(status));
    }
  }
  return 0;
}
