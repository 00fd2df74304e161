// System calls that nobody chose, in sequences: descriptors, addresses, sizes and flags that a seed gives, good and bad
// ones, on memory with pages that cannot be written, have run as code, lie beyond the end of their file or are not
// there. Each sequence runs in a child of its own. What each call answers, which signals it brings and what memory is
// then is a function of the seed; so two runs of one seed print the same, natively and elsewhere.
//   random_calls SEED FIRST COUNT [show]     show: a line for each sequence; tests/suites/compare_random compares them
// Left out is what is not a function of the program (times, ids, addresses that the kernel chooses), what waits, and
// what reaches beyond the child and its folder. Root becomes nobody first.
// build: static -O1
// run: 3 210 5
// run: 77321 86 1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "random.h"

enum { PAGE = 4096, PAGES = 12, IN_SEQUENCE = 20, GUARD_SECONDS = 60 };
// What the pages are at first; HOLE is not mapped, BEYOND lies behind the end of the file that FILE_PAGE shows.
enum { DATA = 0, READ_ONLY = 4, NO_ACCESS, CODE, MORE_DATA, HOLE, FILE_PAGE, BEYOND, LAST };
static uint8_t* const arena = (uint8_t*)0x300008000000;

// ---- arguments ------------------------------------------------------------------------------------------------

#define ONE_OF(...)                          \
  ({                                         \
    static const long of_[] = {__VA_ARGS__}; \
    of_[below(sizeof of_ / sizeof *of_)];    \
  })

enum { DESCRIPTORS = 13, MOST_POLLED = 1025 };

static bool whole_memory = true;  // or what fill() renews

static long address(void) {
  if (one_in(12)) return ONE_OF(0, 1, -1, -4096, 0x7ffffffff000, (long)0x8000000000000000u, (long)0xffff800000000000u);
  const unsigned page = one_in(2) ? DATA : below(whole_memory ? PAGES : 2);
  return (long)arena + (long)page * PAGE + ONE_OF(0, 0, 8, 1, 100, PAGE - 1, PAGE - 8, PAGE - 64);
}

static long size(void) {
  if (!whole_memory) return ONE_OF(0, 1, 8, 64, 256, PAGE, 2 * PAGE - 64);
  return ONE_OF(0, 1, 4, 8, 16, 64, 100, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE, 5 * PAGE, -1);
}

static long vectors(void) {
  static struct iovec of[8];
  if (one_in(10)) return address();
  for (unsigned i = 0; i < 8; ++i) of[i] = (struct iovec){(void*)address(), (size_t)size()};
  return (long)of;
}

static long set_of_signals(void) {
  static uint64_t set;
  if (one_in(6)) return one_in(2) ? 0 : address();
  set = any() & ~(UINT64_C(1) << (SIGALRM - 1));
  return (long)&set;
}

static long time_span(void) {
  static const struct timespec of[] = {{0, 0}, {0, 0}, {0, 1000}, {-1, 0}, {0, -1}};
  return one_in(10) ? (long)arena + PAGES * PAGE : (long)&of[below(5)];
}

static long path(void) {
  static const char* const of[] = {"file", "other", "folder", "folder/inner", "link", ".", "", "missing/x", "file/x"};
  return one_in(12) ? ONE_OF(0, -1, 0x7ffffffff000) : (long)of[below(9)];
}

static long action(void) {
  static struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    uint64_t mask;
  } of;
  if (one_in(6)) return one_in(2) ? 0 : address();
  of.handler = one_in(2) ? SIG_IGN : SIG_DFL;
  of.flags = (unsigned long)ONE_OF(0, SA_RESTART, SA_NODEFER, SA_NOCLDWAIT);
  of.mask = any();
  return (long)&of;
}

static long polled(void) {
  static struct pollfd of[MOST_POLLED];
  if (one_in(8)) return address();
  for (unsigned i = 0; i < 8; ++i)
    of[i] = (struct pollfd){.fd = (int)below(DESCRIPTORS + 2) - 1, .events = (short)below(64)};
  return (long)of;
}

static long epoll_wish(void) {
  static struct epoll_event of;
  if (one_in(8)) return address();
  of.events = (uint32_t)ONE_OF(EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT, -1);
  of.data.u64 = any();
  return (long)&of;
}

// One letter, one kind of argument.
static long argument(char kind) {
  switch (kind) {
    case 'f': return one_in(10) ? ONE_OF(-1, 63, 1023, 1024, 100000, AT_FDCWD, INT32_MIN) : (long)below(DESCRIPTORS);
    case '-': return one_in(8) ? argument('f') : ONE_OF(0, 8);                    // a file
    case '|': return one_in(8) ? argument('f') : ONE_OF(1, 2);                    // a pipe
    case '#': return one_in(8) ? argument('f') : 3 + (long)below(4);              // a socket
    case '9': return one_in(8) ? argument('f') : 9;                               // the epoll
    case '@': return one_in(8) ? argument('f') : ONE_OF(AT_FDCWD, AT_FDCWD, 11);  // a folder
    case 'B': return one_in(3) ? address() : 0;
    case 'g': return ONE_OF(0, 8, -1, 100000);  // what can be mapped, or nothing
    case '1': return 1;
    case 'e': return ONE_OF(0755, 0644, 0700, 0);
    case 'j': return SPLICE_F_NONBLOCK;
    case 'q': return ONE_OF(0, 0, PAGE, 1);
    case 'y': return SOCK_NONBLOCK | ONE_OF(SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, 77);
    case 'b': return address();
    case 'n': return size();
    case 'v': return vectors();
    case 'k': return ONE_OF(0, 1, 1, 2, 3, 8, -1, MOST_POLLED);
    case 'o': return ONE_OF(0, 0, 1, 50, 100, PAGE, 10000, -1, 1 << 20);
    case 'i': return ONE_OF(0, 1, 2, 3, -1);
    case '0': return 0;
    case 's': return ONE_OF(0, SIGUSR1, SIGUSR1, SIGUSR2, SIGCHLD, SIGURG, SIGWINCH, 34, 64, 65, -1);
    case 'S': return set_of_signals();
    case '8': return one_in(12) ? ONE_OF(0, 4, 16) : 8;
    case 'H': return ONE_OF(SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK, 3);
    case 'x': return action();
    case 't': return time_span();
    case 'p': return path();
    case 'a': return (long)arena + (long)below(PAGES) * PAGE + (one_in(12) ? 1 : 0);
    case 'l': return ONE_OF(0, PAGE, PAGE, 2 * PAGE, 3 * PAGE, 100, PAGE + 1);
    case 'r': return ONE_OF(0, 1, 3, 3, 5, 7, 2, 8);
    case 'M':
      return MAP_FIXED | ONE_OF(MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED, 0);
    case 'A': return ONE_OF(MADV_NORMAL, MADV_DONTNEED, MADV_WILLNEED, MADV_FREE, 21, 22, 77, MADV_REMOVE);
    case 'G':
      return ONE_OF(F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS, F_GETSIG, 9999);
    case 'O':
      return O_NONBLOCK |
             ONE_OF(0, O_RDWR, O_RDWR | O_CREAT, O_RDONLY | O_DIRECTORY, O_WRONLY | O_APPEND, O_CLOEXEC, O_PATH);
    case 'P': return polled();
    case 'W': return epoll_wish();
    case 'E': return ONE_OF(EPOLL_CTL_ADD, EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL, 7);
    case 'w':
      return ONE_OF(FUTEX_WAKE, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, FUTEX_WAKE_BITSET, FUTEX_WAIT, FUTEX_WAIT_BITSET,
                    FUTEX_UNLOCK_PI, 99);
    case 'R': return ONE_OF(RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_AS, RLIMIT_STACK, RLIMIT_DATA, 99);
    case 'D': return MSG_DONTWAIT | ONE_OF(0, MSG_PEEK, MSG_TRUNC, MSG_WAITALL, MSG_NOSIGNAL);
    case 'F': return ONE_OF(0, 0, 0, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, AT_REMOVEDIR, 1);
    case 'd':
      return ONE_OF(PR_GET_NAME, PR_SET_NAME, PR_GET_DUMPABLE, PR_GET_PDEATHSIG, PR_GET_TIMERSLACK, PR_GET_NO_NEW_PRIVS,
                    9999);
  }
  GUEST_CHECK(!"a kind of argument");
  return 0;
}

// ---- calls ----------------------------------------------------------------------------------------------------

// Answers that are not a function of the program: an address that the kernel chose, and memory with times or numbers
// of files in it.
enum { ANSWER = 1, MEMORY = 2 };
struct call {
  const char* name;
  int number;
  const char* arguments;
  int open;  // what is not compared
};
static const struct call calls[] = {
    {"read", SYS_read, "fbn", 0},
    {"write", SYS_write, "fbn", 0},
    {"pread64", SYS_pread64, "-bno", 0},
    {"pwrite64", SYS_pwrite64, "-bno", 0},
    {"readv", SYS_readv, "fvk", 0},
    {"writev", SYS_writev, "fvk", 0},
    {"preadv2", SYS_preadv2, "-vko00", 0},
    {"pwritev2", SYS_pwritev2, "-vko00", 0},
    {"lseek", SYS_lseek, "foi", 0},
    {"dup", SYS_dup, "f", 0},
    {"dup2", SYS_dup2, "ff", 0},
    {"dup3", SYS_dup3, "ffi", 0},
    {"close", SYS_close, "f", 0},
    {"close_range", SYS_close_range, "ff0", 0},
    {"fcntl", SYS_fcntl, "fGi", 0},
    {"ioctl_fionread", SYS_ioctl, "f", 0},
    {"ftruncate", SYS_ftruncate, "-o", 0},
    {"fallocate", SYS_fallocate, "-0on", 0},
    {"fstat", SYS_fstat, "fb", MEMORY},
    {"statx", SYS_statx, "@pFnb", MEMORY},
    {"newfstatat", SYS_newfstatat, "@pbF", MEMORY},
    {"fstatfs", SYS_fstatfs, "fb", MEMORY},
    {"openat", SYS_openat, "@pOe", 0},
    {"unlinkat", SYS_unlinkat, "@pF", 0},
    {"mkdirat", SYS_mkdirat, "@pe", 0},
    {"symlinkat", SYS_symlinkat, "p@p", 0},
    {"linkat", SYS_linkat, "@p@pF", 0},
    {"renameat2", SYS_renameat2, "@p@pF", 0},
    {"readlinkat", SYS_readlinkat, "@pbn", 0},
    {"faccessat", SYS_faccessat, "@pi", 0},
    {"utimensat", SYS_utimensat, "@ptF", 0},
    {"truncate", SYS_truncate, "po", 0},
    {"chdir", SYS_chdir, "p", 0},
    {"getcwd", SYS_getcwd, "bn", MEMORY},
    {"getdents64", SYS_getdents64, "fbn", MEMORY},
    {"sendfile", SYS_sendfile, "f-Bn", 0},
    {"splice_from_pipe", SYS_splice, "|B-Bnj", 0},
    {"splice_to_pipe", SYS_splice, "-B|Bnj", 0},
    {"tee", SYS_tee, "||nj", 0},
    {"vmsplice", SYS_vmsplice, "|vkj", 0},
    {"copy_file_range", SYS_copy_file_range, "-B-Bn0", 0},
    {"pipe2", SYS_pipe2, "bO", 0},
    {"socketpair", SYS_socketpair, "1y0b", 0},
    {"eventfd2", SYS_eventfd2, "iO", 0},
    {"memfd_create", SYS_memfd_create, "pi", 0},
    {"sendto", SYS_sendto, "#bnDBi", 0},
    {"recvfrom", SYS_recvfrom, "#bnDBB", 0},
    {"shutdown", SYS_shutdown, "#i", 0},
    {"getsockopt", SYS_getsockopt, "#1ibb", 0},
    {"getsockname", SYS_getsockname, "#bb", 0},
    {"poll", SYS_poll, "Pk0", 0},
    {"ppoll", SYS_ppoll, "PktS8", MEMORY},
    {"select", SYS_select, "kbbbt", MEMORY},
    {"epoll_create1", SYS_epoll_create1, "i", 0},
    {"epoll_ctl", SYS_epoll_ctl, "9EfW", 0},
    {"epoll_wait", SYS_epoll_wait, "9bk0", 0},
    {"timerfd_gettime", SYS_timerfd_gettime, "fb", 0},
    {"mmap", SYS_mmap, "alrMgq", 0},
    {"mmap_anywhere", SYS_mmap, "alr", ANSWER},
    {"munmap", SYS_munmap, "al", 0},
    {"mprotect", SYS_mprotect, "alr", 0},
    {"madvise", SYS_madvise, "alA", 0},
    {"msync", SYS_msync, "ali", 0},
    {"mincore", SYS_mincore, "alb", MEMORY},
    {"mremap_here", SYS_mremap, "all0", 0},
    {"mremap_to", SYS_mremap, "all", 0},
    {"process_vm_readv", SYS_process_vm_readv, "", 0},
    {"process_vm_writev", SYS_process_vm_writev, "", 0},
    {"rt_sigaction", SYS_rt_sigaction, "sxb8", 0},
    {"rt_sigprocmask", SYS_rt_sigprocmask, "HSb8", 0},
    {"rt_sigpending", SYS_rt_sigpending, "b8", 0},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait, "Sbt8", MEMORY},
    {"sigaltstack", SYS_sigaltstack, "bb", 0},
    {"raise", SYS_tgkill, "", 0},
    {"kill", SYS_kill, "", 0},
    {"futex", SYS_futex, "bwit", 0},
    {"set_robust_list", SYS_set_robust_list, "bn", 0},
    {"getitimer", SYS_getitimer, "kb", MEMORY},
    {"nanosleep", SYS_nanosleep, "tb", 0},
    {"prlimit64", SYS_prlimit64, "0R0b", MEMORY},
    {"getrlimit", SYS_getrlimit, "Rb", MEMORY},
    {"sched_getaffinity", SYS_sched_getaffinity, "0nb", 0},
    {"sched_getparam", SYS_sched_getparam, "0b", 0},
    {"sched_get_priority_max", SYS_sched_get_priority_max, "i0", 0},
    {"uname", SYS_uname, "b", 0},
    {"prctl", SYS_prctl, "db", 0},
    {"umask", SYS_umask, "e", 0},
    {"getgroups", SYS_getgroups, "kb", 0},
    {"getresuid", SYS_getresuid, "bbb", 0},
    {"getrandom", SYS_getrandom, "bni", MEMORY},
    {"clock_getres", SYS_clock_getres, "ib", 0},
    {"wait4", SYS_wait4, "", 0},
    {"no_such_call", 1000, "bbb", 0},
};
enum { CALLS = sizeof calls / sizeof *calls };

static long raw(long number, const long* a) {
  register long r10 asm("r10") = a[3];
  register long r8 asm("r8") = a[4];
  register long r9 asm("r9") = a[5];
  long answer;
  asm volatile("syscall"
               : "=a"(answer)
               : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return answer;
}

static long do_call(const struct call* it) {
  long a[6] = {0};
  for (unsigned i = 0; it->arguments[i] != 0; ++i) a[i] = argument(it->arguments[i]);
  switch (it->number) {  // what a row cannot say
    case SYS_ioctl:
      a[1] = 0x541B;  // FIONREAD
      a[2] = address();
      break;
    case SYS_mmap:
      if (it->open == ANSWER) a[3] = MAP_PRIVATE | MAP_ANONYMOUS, a[4] = -1;
      break;
    case SYS_mremap:
      if (it->arguments[3] != '0') a[3] = MREMAP_MAYMOVE | MREMAP_FIXED, a[4] = argument('a');
      break;
    case SYS_process_vm_readv:
    case SYS_process_vm_writev: {
      static struct iovec others[2];
      for (unsigned i = 0; i < 2; ++i) others[i] = (struct iovec){(void*)address(), (size_t)size()};
      a[0] = getpid(), a[1] = vectors(), a[2] = argument('k'), a[3] = (long)others, a[4] = 2;
      break;
    }
    case SYS_tgkill: a[0] = getpid(), a[1] = gettid(), a[2] = argument('s'); break;
    case SYS_kill: a[0] = getpid(), a[1] = argument('s'); break;
    case SYS_wait4: a[0] = -1, a[1] = address(), a[2] = WNOHANG, a[3] = address(); break;
    case SYS_select: a[0] = (long)below(20); break;
  }
  return raw(it->number, a);
}

// ---- a sequence -----------------------------------------------------------------------------------------------

/// What the child tells: of each call until it died.
struct told {
  unsigned calls;
  uint8_t which[IN_SEQUENCE];
  long answer[IN_SEQUENCE];
  uint64_t signals[IN_SEQUENCE], memory[IN_SEQUENCE];
};
static struct told* told;
static volatile uint64_t signals;

static void on_signal(int number) { signals = signals * 131 + (uint64_t)number; }

// By the kernel, since a page may no longer be there.
static void fill(void) {
  static uint64_t words[PAGE / 8];
  for (unsigned page = DATA; page < READ_ONLY; ++page) {
    for (unsigned i = 0; i < PAGE / 8; ++i) words[i] = page == DATA && i < 32 ? i : page * 0x0101010101010101u + i;
    const struct iovec here = {words, PAGE}, there = {arena + page * PAGE, PAGE};
    process_vm_writev(getpid(), &here, 1, &there, 1, 0);
  }
}

static void map_page(unsigned page, unsigned count, int protection, int flags, int fd) {
  uint8_t* const at = arena + page * PAGE;
  GUEST_CHECK(mmap(at, count * PAGE, protection, flags | MAP_FIXED, fd, 0) == at);
}

static void make_memory(int fd) {
  const int both = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_ANONYMOUS;
  map_page(0, PAGES, both, own, -1);
  fill();
  mprotect(arena + READ_ONLY * PAGE, PAGE, PROT_READ);
  mprotect(arena + NO_ACCESS * PAGE, PAGE, PROT_NONE);
  map_page(CODE, 1, both | PROT_EXEC, own, -1);
  memset(arena + CODE * PAGE, 0xC3, PAGE);  // RET
  ((void (*)(void))(arena + CODE * PAGE + 64))();
  munmap(arena + HOLE * PAGE, PAGE);
  map_page(FILE_PAGE, 2, both, MAP_SHARED, fd);
}

// The first descriptors, each what its row says, none of which waits.
static void make_descriptors(void) {
  close_range(0, ~0u, 0);
  int two[2];
  GUEST_CHECK(open("file", O_RDWR | O_CREAT | O_TRUNC, 0644) == 0 && ftruncate(0, 100) == 0 &&
              pwrite(0, "some text", 9, 0) == 9);
  GUEST_CHECK(pipe2(two, O_NONBLOCK) == 0 && two[1] == 2);
  GUEST_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two) == 0 && two[1] == 4);
  GUEST_CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, two) == 0 && two[1] == 6);
  GUEST_CHECK(eventfd(3, EFD_NONBLOCK) == 7);
  GUEST_CHECK(memfd_create("memory", MFD_ALLOW_SEALING) == 8);
  GUEST_CHECK(epoll_create1(0) == 9);
  GUEST_CHECK(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK) == 10);
  GUEST_CHECK(open(".", O_RDONLY | O_DIRECTORY) == 11);
  GUEST_CHECK(open("/dev/null", O_RDWR) == 12);
  GUEST_CHECK(write(2, "piped", 5) == 5 && write(4, "stream", 6) == 6 && write(6, "datagram", 8) == 8);
  GUEST_CHECK(mkdir("folder", 0755) == 0 && symlink("file", "link") == 0);
}

static uint64_t sum_of_memory(void) {
  static uint64_t copy[PAGE / 8];
  uint64_t sum = GUEST_SUM;
  for (unsigned page = 0; page < PAGES; ++page) {
    const struct iovec here = {copy, PAGE}, there = {arena + page * PAGE, PAGE};
    const long got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    sum = (sum ^ (uint64_t)got) * 0x100000001b3u;
    for (unsigned i = 0; got == PAGE && i < PAGE / 8; ++i) sum = (sum ^ copy[i]) * 0x100000001b3u;
  }
  return sum;
}

static void run_sequence(void) {
  umask(022);
  make_descriptors();
  make_memory(0);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const struct sigaction handler = {.sa_handler = on_signal};
  static const int handled[] = {SIGUSR1, SIGUSR2, SIGPIPE, SIGCHLD, 34};
  for (unsigned i = 0; i < sizeof handled / sizeof *handled; ++i) sigaction(handled[i], &handler, 0);
  alarm(GUARD_SECONDS);
  for (unsigned i = 0; i < IN_SEQUENCE; ++i) {
    const struct call* const it = &calls[told->which[i] = (uint8_t)below(CALLS)];
    told->calls = i + 1;
    signals = 0;
    told->answer[i] = INT64_MIN;  // if it does not return
    whole_memory = it->open != MEMORY;
    const long answer = do_call(it);
    told->answer[i] = it->open == ANSWER && answer > 0 ? 0 : answer;
    told->signals[i] = signals;
    if (it->open == MEMORY) fill();
    told->memory[i] = it->open == MEMORY ? 0 : sum_of_memory();
  }
}

static int remove_entry(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)status;
  (void)kind;
  return where->level == 0 ? 0 : remove(path);
}

int main(int count, char** words) {
  const uint64_t seed = count > 1 ? strtoull(words[1], 0, 10) : 1, first = count > 2 ? strtoull(words[2], 0, 10) : 0;
  const uint64_t end = first + (count > 3 ? strtoull(words[3], 0, 10) : 100);
  if (geteuid() == 0) GUEST_CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
  char folder[] = "/tmp/random_calls.XXXXXX";
  GUEST_CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(told != MAP_FAILED);
  uint64_t total = GUEST_SUM;
  for (uint64_t number = first; number < end; ++number) {
    memset(told, 0, sizeof *told);
    fflush(stdout);
    const pid_t child = fork();
    GUEST_CHECK(child >= 0);
    if (child == 0) {
      state = seed * 0x632be59bd9b4e019u + number;
      any();
      run_sequence();
      _exit(0);
    }
    int status = 0;
    GUEST_CHECK(waitpid(child, &status, 0) == child);
    GUEST_CHECK(nftw(".", remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
    total = guest_sum(total, told, sizeof *told);
    total = guest_sum(total, &status, sizeof status);
    if (count <= 4) continue;
    printf("%lu calls -: at 0 status %x", number, (unsigned)status);
    for (unsigned i = 0; i < told->calls; ++i) {
      printf(" %u:%s %ld,%lx,%lx", i, calls[told->which[i]].name, told->answer[i], told->signals[i], told->memory[i]);
    }
    printf("\n");
  }
  GUEST_CHECK(chdir("/") == 0 && rmdir(folder) == 0);
  printf("seed %lu up to %lu: %lx\n", seed, end, total);
  return 0;
}
