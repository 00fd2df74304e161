// A walk through calls that a translator must pass on unharmed: pipes, sockets with descriptors in them, epoll, eventfd,
// inotify, splice, file locks, directory reading, limits, priorities, names, random bytes, large and vectored I/O.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guest.h"

static void sockets(void) {
  int pair[2], ends[2];
  GUEST_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0 && pipe(ends) == 0);
  char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
  GUEST_CHECK(sendmsg(pair[0], &message, 0) == 1 && recvmsg(pair[1], &message, 0) == 1);
  int received;
  memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
  GUEST_CHECK(received != ends[1] && write(received, "through", 7) == 7);
  char text[8] = "";
  GUEST_CHECK(read(ends[0], text, 7) == 7);
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  GUEST_CHECK(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0);
  printf("descriptor passed: %s, peer is self %d\n", text, credentials.pid == getpid());
}
static void events(void) {
  const int poller = epoll_create1(EPOLL_CLOEXEC), counter = eventfd(0, EFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x123456789}, got;
  GUEST_CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, counter, &event) == 0);
  GUEST_CHECK(epoll_wait(poller, &got, 1, 0) == 0);
  eventfd_write(counter, 5);
  GUEST_CHECK(epoll_wait(poller, &got, 1, 1000) == 1);
  eventfd_t value;
  eventfd_read(counter, &value);
  printf("epoll %llx eventfd %d\n", (unsigned long long)got.data.u64, (int)value);
}
static void files(void) {
  char directory[] = "/tmp/calls-XXXXXX", text[64] = "";
  GUEST_CHECK(mkdtemp(directory) != NULL && chdir(directory) == 0);
  const int watcher = inotify_init1(IN_NONBLOCK);
  GUEST_CHECK(inotify_add_watch(watcher, ".", IN_CREATE | IN_DELETE) >= 0);
  const int fd = open("file", O_CREAT | O_RDWR, 0640);
  struct iovec parts[] = {{"vec", 3}, {"tor", 3}, {"ed", 2}};
  GUEST_CHECK(writev(fd, parts, 3) == 8 && pwritev(fd, parts, 1, 100) == 3);
  GUEST_CHECK(flock(fd, LOCK_EX) == 0);
  struct stat s;
  fstat(fd, &s);
  struct statx x;
  GUEST_CHECK(statx(AT_FDCWD, "file", 0, STATX_SIZE, &x) == 0);
  printf("size %ld %ld mode %o\n", (long)s.st_size, (long)x.stx_size, s.st_mode & 0777);
  const int copy = open("copy", O_CREAT | O_RDWR, 0600);
  off_t from = 0;
  GUEST_CHECK(sendfile(copy, fd, &from, 8) == 8);
  int ends[2];
  GUEST_CHECK(pipe(ends) == 0);
  off64_t at = 0;
  GUEST_CHECK(splice(copy, &at, ends[1], NULL, 8, 0) == 8 && read(ends[0], text, 8) == 8);
  printf("sent and spliced: %s\n", text);
  GUEST_CHECK(symlink("file", "link") == 0 && readlink("link", text, 4) == 4 && rename("copy", "renamed") == 0);
  GUEST_CHECK(link("file", "hard") == 0 && unlink("hard") == 0 && truncate("file", 3) == 0 && chmod("file", 0600) == 0);
  struct statvfs v;
  GUEST_CHECK(statvfs(".", &v) == 0 && access("file", R_OK) == 0 && access("none", R_OK) == -1);
  char notes[4096];
  const ssize_t n = read(watcher, notes, sizeof notes);
  int created = 0, deleted = 0;
  for (char* p = notes; p < notes + n; p += sizeof(struct inotify_event) + ((struct inotify_event*)(void*)p)->len) {
    created += (((struct inotify_event*)(void*)p)->mask & IN_CREATE) != 0;
    deleted += (((struct inotify_event*)(void*)p)->mask & IN_DELETE) != 0;
  }
  printf("created %d deleted %d\n", created, deleted);
  unlink("file");
  unlink("link");
  unlink("renamed");
  rmdir(directory);
}

int main(void) {
  sockets();
  events();
  files();
  struct utsname names;
  GUEST_CHECK(uname(&names) == 0);
  printf("%s %s\n", names.sysname, names.machine);
  unsigned char bytes[256] = {0}, again[256] = {0};
  GUEST_CHECK(getrandom(bytes, 256, 0) == 256 && getentropy(again, 256) == 0 && memcmp(bytes, again, 256) != 0);
  struct rlimit limit;
  GUEST_CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && prlimit(0, RLIMIT_DATA, NULL, &limit) == 0);
  struct rusage usage;
  GUEST_CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0);
  errno = 0;
  GUEST_CHECK(syscall(9999) == -1 && errno == ENOSYS);
  GUEST_CHECK(read(-1, bytes, 1) == -1 && errno == EBADF);
  GUEST_CHECK(syscall(SYS_write, 1, 8, 1) == -1 && errno == EFAULT);
  GUEST_CHECK(getpid() == syscall(SYS_gettid) && getppid() > 0);
  unsigned cpu, node;
  GUEST_CHECK(syscall(SYS_getcpu, &cpu, &node, NULL) == 0);
  static char large[1 << 20];
  int ends[2];
  GUEST_CHECK(pipe2(ends, O_NONBLOCK) == 0);
  ssize_t total = 0;
  for (ssize_t n; (n = write(ends[1], large, sizeof large)) > 0;) total += n;
  printf("pipe takes %ld, then %s\n", (long)total, errno == EAGAIN ? "EAGAIN" : "?");
  close(ends[0]);
  return 0;
}
