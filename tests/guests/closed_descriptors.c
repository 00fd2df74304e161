// Every system call that takes a descriptor, on numbers that are not open: in an argument, in a structure, in an array,
// in a set, in a message. All such numbers answer alike; zeroskid has some, and they must be as closed as the others.
// build: static -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest.h"

enum { FIRST = 1000, END = 4300, HIGHEST = 8191, PAGE = 4096 };
// Stands for the descriptor in a row.
enum { FD = INT_MIN };

static char buffer[PAGE], path[] = "closed_descriptors.file", full_path[] = "/dev/null", empty[] = "";
static struct iovec piece = {buffer, 8};
static const struct timespec at_once;
static const sigset_t no_signals;
static uint64_t offset;
static int pipe_ends[2], sockets[2], epoll, event, file, other;
static aio_context_t aio;

#define P(x) (long)(x)

// ---- by argument ----------------------------------------------------------------------------------------------

struct row {
  const char* name;
  long number;
  long a[6];
};

static const struct row* rows(int* count) {
  static struct row all[140];
  int n = 0;
#define ROW(call, ...) all[n++] = (struct row){#call, SYS_##call, {__VA_ARGS__}}
  ROW(read, FD, P(buffer), 8);
  ROW(write, FD, P(buffer), 0);
  ROW(close, FD);
  ROW(fstat, FD, P(buffer));
  ROW(lseek, FD, 0, SEEK_CUR);
  ROW(mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, FD, 0);
  ROW(ioctl, FD, FIONREAD, P(buffer));
  ROW(ioctl, file, FICLONE, FD);
  ROW(ioctl, file, LOOP_SET_FD, FD);
  ROW(pread64, FD, P(buffer), 8, 0);
  ROW(pwrite64, FD, P(buffer), 0, 0);
  ROW(readv, FD, P(&piece), 1);
  ROW(writev, FD, P(&piece), 1);
  ROW(dup, FD);
  ROW(dup2, FD, 700);
  ROW(dup3, FD, 700, 0);
  ROW(sendfile, pipe_ends[1], FD, 0, 1);
  ROW(sendfile, FD, file, 0, 1);
  ROW(connect, FD, P(buffer), 16);
  ROW(accept, FD, 0, 0);
  ROW(accept4, FD, 0, 0, 0);
  ROW(sendto, FD, P(buffer), 0, 0, 0, 0);
  ROW(recvfrom, FD, P(buffer), 8, MSG_DONTWAIT, 0, 0);
  ROW(shutdown, FD, SHUT_RD);
  ROW(bind, FD, P(buffer), 16);
  ROW(listen, FD, 1);
  ROW(getsockname, FD, P(buffer), P(&offset));
  ROW(getpeername, FD, P(buffer), P(&offset));
  ROW(setsockopt, FD, SOL_SOCKET, SO_REUSEADDR, P(&offset), 4);
  ROW(getsockopt, FD, SOL_SOCKET, SO_TYPE, P(buffer), P(&offset));
  ROW(fcntl, FD, F_GETFD);
  ROW(fcntl, FD, F_DUPFD, 0);
  ROW(fcntl, FD, F_SETFD, 0);
  ROW(flock, FD, LOCK_UN);
  ROW(fsync, FD);
  ROW(fdatasync, FD);
  ROW(ftruncate, FD, 0);
  ROW(getdents, FD, P(buffer), PAGE);
  ROW(getdents64, FD, P(buffer), PAGE);
  ROW(fchdir, FD);
  ROW(fchmod, FD, 0600);
  ROW(fchown, FD, -1, -1);
  ROW(fstatfs, FD, P(buffer));
  ROW(readahead, FD, 0, 1);
  ROW(fsetxattr, FD, P("user.x"), P(buffer), 1, 0);
  ROW(fgetxattr, FD, P("user.x"), P(buffer), 1);
  ROW(flistxattr, FD, P(buffer), 1);
  ROW(fremovexattr, FD, P("user.x"));
  ROW(mq_timedsend, FD, P(buffer), 1, 0, P(&at_once));
  ROW(mq_timedreceive, FD, P(buffer), 1, 0, P(&at_once));
  ROW(mq_notify, FD, 0);
  ROW(mq_getsetattr, FD, 0, P(buffer));
  ROW(fadvise64, FD, 0, 0, 0);
  ROW(epoll_wait, FD, P(buffer), 1, 0);
  ROW(epoll_pwait, FD, P(buffer), 1, 0, 0, 8);
  ROW(epoll_ctl, FD, EPOLL_CTL_ADD, event, P(buffer));
  ROW(epoll_ctl, epoll, EPOLL_CTL_ADD, FD, P(buffer));
  ROW(epoll_ctl, epoll, EPOLL_CTL_DEL, FD, P(buffer));
  ROW(inotify_add_watch, FD, P(full_path), 1);
  ROW(inotify_rm_watch, FD, 1);
  ROW(openat, FD, P(path), O_RDONLY);
  ROW(openat, FD, P(full_path), O_PATH | O_DIRECTORY);
  ROW(mkdirat, FD, P(path), 0700);
  ROW(mknodat, FD, P(path), 0100600, 0);
  ROW(fchownat, FD, P(path), -1, -1, 0);
  ROW(futimesat, FD, P(path), 0);
  ROW(newfstatat, FD, P(path), P(buffer), 0);
  ROW(newfstatat, FD, P(empty), P(buffer), AT_EMPTY_PATH);
  ROW(newfstatat, FD, -4096, P(buffer), 0);
  ROW(unlinkat, FD, P(path), 0);
  ROW(renameat, FD, P(path), AT_FDCWD, P(path));
  ROW(renameat, AT_FDCWD, P(path), FD, P(path));
  ROW(renameat2, FD, P(path), AT_FDCWD, P(path), 0);
  ROW(renameat2, AT_FDCWD, P(path), FD, P(path), 0);
  ROW(linkat, FD, P(path), AT_FDCWD, P(path), 0);
  ROW(linkat, AT_FDCWD, P(full_path), FD, P(path), 0);
  ROW(linkat, FD, P(empty), AT_FDCWD, P(path), AT_EMPTY_PATH);
  ROW(symlinkat, P(path), FD, P(path));
  ROW(readlinkat, FD, P(path), P(buffer), 8);
  ROW(readlinkat, FD, P(empty), P(buffer), 8);
  ROW(fchmodat, FD, P(path), 0600);
  ROW(faccessat, FD, P(path), F_OK);
  ROW(faccessat2, FD, P(path), F_OK, 0);
  ROW(utimensat, FD, P(path), 0, 0);
  ROW(utimensat, FD, 0, 0, 0);
  ROW(statx, FD, P(path), 0, 1, P(buffer));
  ROW(statx, FD, P(empty), AT_EMPTY_PATH, 1, P(buffer));
  ROW(execveat, FD, P(path), 0, 0, 0);
  ROW(execveat, FD, P(empty), 0, 0, AT_EMPTY_PATH);
  ROW(openat2, FD, P(path), P(buffer), 24);
  ROW(name_to_handle_at, FD, P(path), P(buffer), P(buffer + 512), 0);
  ROW(open_tree, FD, P(path), 0);
  ROW(splice, FD, 0, pipe_ends[1], 0, 1, SPLICE_F_NONBLOCK);
  ROW(splice, file, 0, FD, 0, 1, SPLICE_F_NONBLOCK);
  ROW(tee, FD, pipe_ends[1], 1, SPLICE_F_NONBLOCK);
  ROW(tee, pipe_ends[0], FD, 1, SPLICE_F_NONBLOCK);
  ROW(vmsplice, FD, P(&piece), 1, SPLICE_F_NONBLOCK);
  ROW(copy_file_range, FD, 0, other, 0, 1, 0);
  ROW(copy_file_range, file, 0, FD, 0, 1, 0);
  ROW(sync_file_range, FD, 0, 0, 0);
  ROW(fallocate, FD, 0, 0, 1);
  ROW(signalfd, FD, P(&no_signals), 8);
  ROW(signalfd4, FD, P(&no_signals), 8, 0);
  ROW(timerfd_settime, FD, 0, P(buffer), 0);
  ROW(timerfd_gettime, FD, P(buffer));
  ROW(preadv, FD, P(&piece), 1, 0, 0);
  ROW(pwritev, FD, P(&piece), 1, 0, 0);
  ROW(preadv2, FD, P(&piece), 1, 0, 0, 0);
  ROW(pwritev2, FD, P(&piece), 1, 0, 0, 0);
  ROW(syncfs, FD);
  ROW(fanotify_mark, FD, 1, 1, AT_FDCWD, P(full_path));
  ROW(setns, FD, 0);
  ROW(kcmp, getpid(), getpid(), 0, file, FD);
  ROW(kcmp, getpid(), getpid(), 0, FD, file);
  ROW(finit_module, FD, P(empty), 0);
  ROW(pidfd_send_signal, FD, 0, 0, 0);
  ROW(pidfd_getfd, FD, 0, 0);
  ROW(process_madvise, FD, P(&piece), 1, 0, 0);
  ROW(io_uring_enter, FD, 0, 0, 0, 0, 0);
  ROW(io_uring_register, FD, 0, 0, 0);
  ROW(landlock_add_rule, FD, 1, P(buffer), 0);
  ROW(landlock_restrict_self, FD, 0);
  *count = n;
  return all;
}

// ---- in memory ------------------------------------------------------------------------------------------------

static long polled(int fd) {
  struct pollfd some[3] = {{pipe_ends[0], POLLIN, 0}, {fd, POLLIN | POLLOUT, 0}, {fd, 0, 7}};
  const long ready = poll(some, 3, 0);
  GUEST_CHECK(some[1].fd == fd && some[1].events == (POLLIN | POLLOUT));
  return ready * 1000000 + some[0].revents * 10000 + some[1].revents * 100 + some[2].revents;
}

static long polled_with_mask(int fd) {
  struct pollfd one = {fd, POLLIN, 0};
  return ppoll(&one, 1, &at_once, &no_signals) * 1000 + one.revents;
}

static long selected_as(int fd, int which, bool with_mask) {
  static uint64_t sets[3][(HIGHEST + 1) / 64];
  memset(sets, 0, sizeof sets);
  sets[which][fd / 64] = UINT64_C(1) << fd % 64;
  static struct timespec limit;
  limit = at_once;
  if (!with_mask) return syscall(SYS_select, fd + 1, sets[0], sets[1], sets[2], &limit) == -1 ? -errno : 0;
  return syscall(SYS_pselect6, fd + 1, sets[0], sets[1], sets[2], &limit, 0) == -1 ? -errno : 0;
}
static long selected(int fd) { return selected_as(fd, 0, false); }
static long selected_to_write(int fd) { return selected_as(fd, 1, false); }
static long selected_with_mask(int fd) { return selected_as(fd, 2, true); }

static struct msghdr message_with(int fd) {
  static union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(2 * sizeof(int))];
  } control;
  control.header = (struct cmsghdr){CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), (int[2]){file, fd}, 2 * sizeof(int));
  return (struct msghdr){0, 0, &piece, 1, &control, sizeof control, 0};
}

static long sent(int fd) {
  const struct msghdr message = message_with(fd);
  return sendmsg(sockets[0], &message, MSG_DONTWAIT) == -1 ? -errno : 0;
}

static long sent_many(int fd) {
  struct mmsghdr some[2] = {{{0, 0, &piece, 1, 0, 0, 0}, 0}, {message_with(fd), 0}};
  const long count = sendmmsg(sockets[0], some, 2, MSG_DONTWAIT);
  char taken[64];
  while (recv(sockets[1], taken, sizeof taken, MSG_DONTWAIT) > 0) {
  }
  return count * 100 + some[0].msg_len;
}

static long submitted(int fd) {
  struct iocb one = {.aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = P(buffer), .aio_nbytes = 8};
  struct iocb* list[] = {&one};
  return syscall(SYS_io_submit, aio, 1, list) == -1 ? -errno : 0;
}

static long cloned(int fd) {
  struct file_clone_range range = {.src_fd = fd};
  return ioctl(file, FICLONERANGE, &range) == -1 ? -errno : 0;
}

static long grouped(int fd) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK};
  attr.exclude_kernel = 1;
  const long made = syscall(SYS_perf_event_open, &attr, 0, -1, fd, 0);
  return made == -1 ? -errno : 0;
}

static long seen_in_folder(int fd) {
  char name[64];
  long seen = 0;
  for (const char** each = (const char*[]){"/proc/self/fd", "/dev/fd", "/proc/thread-self/fd", "/proc/self/fdinfo", 0}; *each; ++each) {
    snprintf(name, sizeof name, "%s/%d", *each, fd);
    seen = seen * 10 + (access(name, F_OK) == 0) + (readlink(name, buffer, 8) != -1) * 2 + (chmod(name, 0600) == 0) * 4;
  }
  return seen;
}

static const struct {
  const char* name;
  long (*ask)(int fd);
} questions[] = {{"poll", polled},
                 {"ppoll", polled_with_mask},
                 {"select", selected},
                 {"select to write", selected_to_write},
                 {"pselect6", selected_with_mask},
                 {"sendmsg", sent},
                 {"sendmmsg", sent_many},
                 {"io_submit", submitted},
                 {"FICLONERANGE", cloned},
                 {"perf_event_open", grouped},
                 {"folders of descriptors", seen_in_folder}};

// ---- all ------------------------------------------------------------------------------------------------------

static int wrong;
static void compare(const char* name, int fd, long found, long wanted) {
  if (found == wanted) return;
  if (++wrong < 40) printf("%s: %ld for %d, %ld for others\n", name, found, fd, wanted);
}

int main(int argc, char** argv) {
  if (argc == 0 || argv[0][0] == 0) return puts("executed through a descriptor that is not open"), 3;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur <= HIGHEST) limit.rlim_cur = limit.rlim_max < HIGHEST + 1 ? limit.rlim_max : HIGHEST + 1;
  setrlimit(RLIMIT_NOFILE, &limit);
  // So large the kernel's table is from now on: select looks at no more than that.
  if (dup2(0, HIGHEST) != HIGHEST) return puts("cannot open so many"), 0;
  close(HIGHEST);
  GUEST_CHECK(pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
  GUEST_CHECK(fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK) == 0);
  epoll = epoll_create1(0), event = (int)syscall(SYS_eventfd2, 0, 0);
  file = open(path, O_RDWR | O_CREAT, 0600), other = open(path, O_RDWR);
  GUEST_CHECK(file >= 0 && other >= 0 && write(file, buffer, 100) == 100 && lseek(file, 0, SEEK_SET) == 0);
  unlink(path);
  const bool has_aio = syscall(SYS_io_setup, 4, &aio) == 0;

  int count;
  const struct row* const all = rows(&count);
  int asked = 0;
  for (int i = 0; i < count; ++i) {
    long wanted = 0;
    for (int fd = END; fd >= FIRST; --fd) {
      long a[6];
      for (int k = 0; k < 6; ++k) a[k] = all[i].a[k] == FD ? fd : all[i].a[k];
      const long result = syscall(all[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);
      const long found = result == -1 ? -errno : result;
      if (fd == END) printf("%s: %s\n", all[i].name, found < 0 ? strerror((int)-found) : "done"), wanted = found;
      compare(all[i].name, fd, found, wanted);
      ++asked;
    }
  }
  for (unsigned i = 0; i < sizeof questions / sizeof *questions; ++i) {
    if (questions[i].ask == submitted && !has_aio) continue;
    const long wanted = questions[i].ask(END);
    printf("%s: %ld\n", questions[i].name, wanted);
    for (int fd = END; fd >= FIRST; --fd) compare(questions[i].name, fd, questions[i].ask(fd), wanted), ++asked;
  }
  printf("%d of %d are not as the others\n", wrong, asked);
  return wrong != 0;
}
