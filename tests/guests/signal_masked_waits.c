// Calls that wait with a mask of signals of their own, and each way that such a wait ends: which signals come when, and
// what their handlers find blocked.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum { kUsr1 = 1, kUsr2 = 2, kFpe = 4, kKinds = 3 };
static const int kSignals[kKinds] = {SIGUSR1, SIGUSR2, SIGFPE};
static const char* const kNames[kKinds] = {"USR1", "USR2", "FPE"};

static struct {
  atomic_int waits, wrote;
}* shared;
static int ends[2];
static char story[512];
static size_t told;

static sigset_t set_of(int kinds) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < kKinds; ++i) {
    if (kinds >> i & 1) sigaddset(&set, kSignals[i]);
  }
  return set;
}

static void append(const char* text) {
  const size_t length = strlen(text);
  memcpy(story + told, text, length + 1);
  told += length;
}

static void append_set(const sigset_t* set) {
  append(" [");
  for (int i = 0; i < kKinds; ++i) {
    if (!sigismember(set, kSignals[i])) continue;
    if (story[told - 1] != '[') append(" ");
    append(kNames[i]);
  }
  append("]");
}

static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)info;
  for (int i = 0; i < kKinds; ++i) {
    if (signal == kSignals[i]) append("; "), append(kNames[i]);
  }
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  append(" with");
  append_set(&now);
  append(" over");
  append_set(&((const ucontext_t*)context)->uc_sigmask);
  append(shared->wrote ? " late" : " early");
}

static struct {
  int ring;
  char *sq, *cq;
  struct io_uring_sqe* entries;
  struct io_uring_params is;
} uring;

static unsigned* word(char* base, unsigned offset) { return (unsigned*)(void*)(base + offset); }

static int make_ring(void) {
  memset(&uring.is, 0, sizeof uring.is);
  uring.ring = (int)syscall(SYS_io_uring_setup, 8, &uring.is);
  if (uring.ring < 0) return 0;
  const int rw = PROT_READ | PROT_WRITE;
  uring.sq = mmap(NULL, uring.is.sq_off.array + uring.is.sq_entries * sizeof(unsigned), rw, MAP_SHARED, uring.ring, IORING_OFF_SQ_RING);
  uring.cq = mmap(NULL, uring.is.cq_off.cqes + uring.is.cq_entries * sizeof(struct io_uring_cqe), rw, MAP_SHARED, uring.ring,
                  IORING_OFF_CQ_RING);
  uring.entries = mmap(NULL, uring.is.sq_entries * sizeof *uring.entries, rw, MAP_SHARED, uring.ring, IORING_OFF_SQES);
  return uring.sq != MAP_FAILED && uring.cq != MAP_FAILED && uring.entries != MAP_FAILED;
}

static void add_entry(unsigned char operation) {
  unsigned* const tail = word(uring.sq, uring.is.sq_off.tail);
  const unsigned index = *tail & (uring.is.sq_entries - 1);
  struct io_uring_sqe* const entry = &uring.entries[index];
  memset(entry, 0, sizeof *entry);
  entry->opcode = operation;
  entry->fd = ends[0];
  entry->poll32_events = POLLIN;
  word(uring.sq, uring.is.sq_off.array)[index] = index;
  atomic_store((_Atomic unsigned*)tail, *tail + 1);
}

enum { kPpoll, kPselect, kEpoll, kEpoll2, kAio, kRing, kRingOldMask, kSuspend, kCalls };
static const char* const kCallNames[kCalls] = {"ppoll",         "pselect6",       "epoll_pwait",           "epoll_pwait2",
                                               "io_pgetevents", "io_uring_enter", "io_uring_enter, plain", "sigsuspend"};

static aio_context_t aio;
static int poller;

static void prepare(int call) {
  if (call == kAio) {
    aio = 0;
    GUEST_CHECK(syscall(SYS_io_setup, 4, &aio) == 0);
    static struct iocb block;
    memset(&block, 0, sizeof block);
    block.aio_lio_opcode = IOCB_CMD_POLL;
    block.aio_fildes = (unsigned)ends[0];
    block.aio_buf = POLLIN;
    struct iocb* blocks[] = {&block};
    GUEST_CHECK(syscall(SYS_io_submit, aio, 1, blocks) == 1);
  }
  if (call == kRing || call == kRingOldMask) {
    GUEST_CHECK(make_ring());
    add_entry(IORING_OP_POLL_ADD);
    GUEST_CHECK(syscall(SYS_io_uring_enter, uring.ring, 1, 0, 0, NULL, 0) == 1);
  }
}

static void put_away(int call) {
  if (call == kAio) syscall(SYS_io_destroy, aio);
  if (call == kRing || call == kRingOldMask) {
    munmap(uring.sq, uring.is.sq_off.array + uring.is.sq_entries * sizeof(unsigned));
    munmap(uring.cq, uring.is.cq_off.cqes + uring.is.cq_entries * sizeof(struct io_uring_cqe));
    munmap(uring.entries, uring.is.sq_entries * sizeof *uring.entries);
    close(uring.ring);
  }
}

// `submits` and `least` are for the calls that have such arguments.
static long wait_in(int call, const sigset_t* mask, int milliseconds, unsigned submits, unsigned least) {
  const size_t size = 8;
  struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  struct pollfd polled = {ends[0], POLLIN, 0};
  struct epoll_event event;
  struct io_event done[2];
  fd_set read_ends;
  FD_ZERO(&read_ends);
  FD_SET(ends[0], &read_ends);
  struct {
    const sigset_t* mask;
    size_t size;
  } pair = {mask, size};
  struct io_uring_getevents_arg argument = {.sigmask = (uintptr_t)mask, .sigmask_sz = (unsigned)size, .ts = (uintptr_t)&limit};
  shared->waits = 1;
  long result = -1;
  switch (call) {
    case kPpoll: result = syscall(SYS_ppoll, &polled, 1, &limit, mask, size); break;
    case kPselect: result = syscall(SYS_pselect6, ends[0] + 1, &read_ends, NULL, NULL, &limit, &pair); break;
    case kEpoll: result = syscall(SYS_epoll_pwait, poller, &event, 1, milliseconds, mask, size); break;
    case kEpoll2: result = syscall(SYS_epoll_pwait2, poller, &event, 1, &limit, mask, size); break;
    case kAio: result = syscall(SYS_io_pgetevents, aio, least, 2, done, &limit, &pair); break;
    case kRing:
      result = syscall(SYS_io_uring_enter, uring.ring, submits, least, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument,
                       sizeof argument);
      break;
    case kRingOldMask: result = syscall(SYS_io_uring_enter, uring.ring, submits, least, IORING_ENTER_GETEVENTS, mask, size); break;
    case kSuspend: result = syscall(SYS_rt_sigsuspend, mask, size); break;
  }
  return result < 0 ? -errno : result;
}

static char state_of(pid_t pid) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* const file = fopen(path, "r");
  if (file == NULL || fgets(line, sizeof line, file) == NULL) _exit(98);
  fclose(file);
  return strrchr(line, ')')[2];
}

static void until(pid_t pid, char state) {
  for (int times = 0; times < 3; times = state_of(pid) == state ? times + 1 : 0) usleep(2000);
}

static void send(pid_t to, int kinds) {
  for (int i = kKinds; i-- > 0;) {
    if (kinds >> i & 1) kill(to, kSignals[i]);
  }
}

struct scenario {
  const char* name;
  int own, calls, before, during;  // sets
  enum { kNever, kBefore, kDuring } ready;
  int stops, milliseconds;
};

static const struct scenario kScenarios[] = {
    {"only the call blocks it, ready", 0, kUsr1, 0, kUsr1, kDuring, 0, 20000},
    {"only the call blocks it, over", 0, kUsr1, 0, kUsr1, kNever, 0, 100},
    {"only the call blocks it, stopped", 0, kUsr1, 0, kUsr1, kDuring, 1, 20000},
    {"only the call lets it in", kUsr1, kUsr2, 0, kUsr1, kNever, 0, 20000},
    {"one of two", kUsr1, kUsr2, 0, kUsr1 | kUsr2, kNever, 0, 20000},
    {"both let it in", 0, kUsr2, 0, kUsr1, kNever, 0, 20000},
    {"it is there already", kUsr1, 0, kUsr1, 0, kNever, 0, 20000},
    {"it is there already, and ready", kUsr1, kUsr2, kUsr1, 0, kBefore, 0, 20000},
    {"one of a fault", kFpe, kUsr2, 0, kFpe, kNever, 0, 20000},
    {"one of a fault that only the call blocks", 0, kFpe, 0, kFpe, kDuring, 0, 20000},
    {"one of a fault, there already", kFpe, kUsr2, kFpe, 0, kNever, 0, 20000},
    {"one of a fault, there already, and ready", kFpe, kUsr2, kFpe, 0, kBefore, 0, 20000},
};

static void tell(const char* call, const char* name, long result) {
  sigset_t now, waiting;
  sigprocmask(SIG_BLOCK, NULL, &now);
  sigpending(&waiting);
  append("; then");
  append_set(&now);
  append(" waits");
  append_set(&waiting);
  printf("%s, %s: %ld%s\n", call, name, result, story);
  fflush(stdout);
  sigset_t none = set_of(0);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static pid_t helper(const struct scenario* s) {
  const pid_t waiter = getpid(), child = fork();
  if (child != 0) return child;
  while (!shared->waits) usleep(1000);
  until(waiter, 'S');
  send(waiter, s->during);
  if (s->stops) {
    kill(waiter, SIGSTOP);
    until(waiter, 'T');
    kill(waiter, SIGCONT);
    until(waiter, 'S');
  }
  if (s->ready != kDuring) _exit(0);
  shared->wrote = 1;
  _exit(write(ends[1], "w", 1) == 1 ? 0 : 97);
}

static void play(int call, const struct scenario* s) {
  told = 0;
  shared->waits = shared->wrote = 0;
  const sigset_t own = set_of(s->own), calls = set_of(s->calls);
  sigprocmask(SIG_SETMASK, &own, NULL);
  send(getpid(), s->before);
  if (s->ready == kBefore) GUEST_CHECK(write(ends[1], "w", 1) == 1);
  prepare(call);
  const pid_t child = helper(s);
  const long result = wait_in(call, &calls, s->milliseconds, 0, 1);
  char byte;
  if (s->ready != kNever) GUEST_CHECK(read(ends[0], &byte, 1) == 1);
  waitpid(child, NULL, 0);
  put_away(call);
  tell(kCallNames[call], s->name, result);
}

// What is done already is the result, and not EINTR.
static void play_half_done(int call) {
  const struct scenario s = {.name = "half done", .calls = kUsr2, .during = kUsr1};
  told = 0;
  shared->waits = shared->wrote = 0;
  const sigset_t calls = set_of(s.calls);
  prepare(call);
  if (call == kAio) GUEST_CHECK(write(ends[1], "w", 1) == 1);
  if (call != kAio) add_entry(IORING_OP_NOP);
  const pid_t child = helper(&s);
  const long result = wait_in(call, &calls, 20000, 1, 2);
  char byte;
  if (call == kAio) GUEST_CHECK(read(ends[0], &byte, 1) == 1);
  waitpid(child, NULL, 0);
  put_away(call);
  tell(kCallNames[call], s.name, result);
}

static int works(int call) {
  if (call == kRing || call == kRingOldMask) {
    const int made = make_ring();
    if (made) put_away(call);
    return made;
  }
  if (call != kAio) return 1;
  aio = 0;
  if (syscall(SYS_io_setup, 4, &aio) != 0) return 0;
  syscall(SYS_io_destroy, aio);
  return 1;
}

static int play_all(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  for (int i = 0; i < kKinds; ++i) sigaction(kSignals[i], &action, NULL);
  GUEST_CHECK(pipe(ends) == 0 && (poller = epoll_create1(0)) >= 0);
  struct epoll_event event = {.events = EPOLLIN};
  GUEST_CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event) == 0);
  for (int call = 0; call < kCalls; ++call) {
    if (!works(call)) {
      printf("no %s: %d\n", kCallNames[call], errno);
      continue;
    }
    for (size_t i = 0; i < sizeof kScenarios / sizeof *kScenarios; ++i) {
      const struct scenario* const s = &kScenarios[i];
      if ((call == kSuspend && (s->ready != kNever || s->milliseconds == 100)) || (call == kRingOldMask && s->milliseconds == 100)) continue;
      play(call, s);
    }
    if (call == kAio || call == kRing || call == kRingOldMask) play_half_done(call);
  }
  return 0;
}

// In a child, which nobody waits for as a shell does: who would stop with it.
int main(void) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(shared != MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) return play_all();
  int status = 0;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status);
}
