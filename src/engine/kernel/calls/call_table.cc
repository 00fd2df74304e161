#include "engine/kernel/calls/call_table.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

using Form = WrittenMemory::Form;
constexpr WrittenMemory bytes(int argument, std::uint16_t size) {
  return {static_cast<std::int8_t>(argument), 0, Form::Bytes, size};
}
constexpr WrittenMemory of_form(Form form, int argument, int count, std::uint16_t size = 0) {
  return {static_cast<std::int8_t>(argument), static_cast<std::int8_t>(count), form, size};
}
constexpr WrittenMemory sized(int argument, int count, std::uint16_t more = 0) {
  return of_form(Form::Sized, argument, count, more);
}
constexpr WrittenMemory array(int argument, int count, std::uint16_t size) {
  return of_form(Form::Array, argument, count, size);
}
constexpr WrittenMemory sized_at(int argument, int count) { return of_form(Form::SizedAt, argument, count); }
constexpr WrittenMemory vectors(int argument, int count) { return of_form(Form::Vectors, argument, count); }
constexpr WrittenMemory message(int argument) { return of_form(Form::Message, argument, 0); }
constexpr WrittenMemory messages(int argument, int count) { return of_form(Form::Messages, argument, count); }
constexpr WrittenMemory control_blocks(int argument, int count) {
  return of_form(Form::ControlBlocks, argument, count);
}

using Found = DescriptorsInMemory::Form;
constexpr DescriptorsInMemory of_form(Found form, int argument, int count) {
  return {.argument = static_cast<std::int8_t>(argument), .count = static_cast<std::int8_t>(count), .form = form};
}
constexpr DescriptorsInMemory field_of(int argument, std::uint8_t size, std::uint8_t offset) {
  return {.argument = static_cast<std::int8_t>(argument), .form = Found::Array, .size = size, .offset = offset};
}
constexpr DescriptorsInMemory polled(int argument, int count) {
  return {.argument = static_cast<std::int8_t>(argument),
          .count = static_cast<std::int8_t>(count),
          .form = Found::Array,
          .size = sizeof(pollfd),
          .offset = offsetof(pollfd, fd),
          .answer_offset = offsetof(pollfd, revents),
          .answer_size = sizeof(pollfd::revents)};
}

using Masked = MaskInCall::Form;

// Sizes are those of the kernel's structures; where one depends on a command (ioctl, ptrace, semctl), the largest.
// clang-format off
constexpr Call kCalls[] = {
    {.number = 0, .name = "read", .handler = calls::read, .traits = kMayWait | kReadsFile | kDescriptor1 | kReadsFaults, .waits = Waits::Input, .written = {sized(1, 2)}},
    {.number = 1, .name = "write", .traits = kWritesFile | kDescriptor1 | kPointer2, .waits = Waits::Output},
    {.number = 2, .name = "open", .traits = kOpens, .path = 0},
    {.number = 3, .name = "close", .traits = kQuick | kDescriptor1},
    {.number = 4, .name = "stat", .traits = kTellsStatus | kQuick, .path = 0, .written = {bytes(1, 144)}},
    {.number = 5, .name = "fstat", .traits = kTellsStatus | kQuick | kDescriptor1, .written = {bytes(1, 144)}},
    {.number = 6, .name = "lstat", .traits = kTellsStatus | kQuick | kStaysAtLink, .path = 0, .written = {bytes(1, 144)}},
    {.number = 7, .name = "poll", .traits = kMayWait, .waits = Waits::Poll, .limit = {2, TimeUnit::Milliseconds, false, 0}, .written = {array(0, 1, 8)}, .descriptors = polled(0, 1)},
    {.number = 8, .name = "lseek", .traits = kQuick | kDescriptor1},
    {.number = 9, .name = "mmap", .handler = calls::mmap, .traits = kOnlyNames | kDescriptor5},
    {.number = 10, .name = "mprotect", .handler = calls::mprotect, .traits = kOnlyNames},
    {.number = 11, .name = "munmap", .handler = calls::munmap, .traits = kOnlyNames},
    {.number = 12, .name = "brk", .handler = calls::brk, .traits = kOnlyNames},
    {.number = 13, .name = "rt_sigaction", .handler = calls::rt_sigaction, .traits = kPointer2 | kPointer3},
    {.number = 14, .name = "rt_sigprocmask", .handler = calls::rt_sigprocmask, .traits = kPointer2 | kPointer3},
    {.number = 15, .name = "rt_sigreturn", .handler = calls::rt_sigreturn, .traits = kEndsImage},
    {.number = 16, .name = "ioctl", .handler = calls::ioctl, .traits = kOnlyNames | kDescriptor1, .command = 1, .written = {bytes(2, 4096)}},
    {.number = 17, .name = "pread64", .handler = calls::read, .traits = kReadsFile | kDescriptor1, .position = 3, .written = {sized(1, 2)}},
    {.number = 18, .name = "pwrite64", .traits = kWritesFile | kDescriptor1, .position = 3},
    {.number = 19, .name = "readv", .handler = calls::read, .traits = kMayWait | kReadsFile | kDescriptor1 | kReadsFaults, .waits = Waits::Input, .written = {vectors(1, 2)}},
    {.number = 20, .name = "writev", .traits = kWritesFile | kDescriptor1 | kPointer2, .waits = Waits::Output, .read = vectors(1, 2)},
    {.number = 21, .name = "access", .traits = kQuick, .path = 0},
    {.number = 22, .name = "pipe", .traits = kQuick, .written = {bytes(0, 8)}},
    {.number = 23, .name = "select", .traits = kMayWait, .waits = Waits::Poll, .limit = {4, TimeUnit::Timeval, true, 0}, .written = {bytes(1, 128), bytes(2, 128), bytes(3, 128), bytes(4, 16)}, .descriptors = of_form(Found::Sets, 1, 0)},
    {.number = 24, .name = "sched_yield", .handler = calls::sched_yield},
    {.number = 25, .name = "mremap", .handler = calls::mremap, .traits = kOnlyNames},
    {.number = 26, .name = "msync", .handler = calls::msync, .traits = kPointer1},
    {.number = 27, .name = "mincore", .traits = kQuick | kPointer1, .written = {sized(2, 1)}},
    {.number = 28, .name = "madvise", .handler = calls::madvise, .traits = kOnlyNames},
    {.number = 29, .name = "shmget", .traits = kQuick},
    {.number = 30, .name = "shmat", .handler = calls::shmat},
    {.number = 31, .name = "shmctl", .written = {bytes(2, 256)}},
    {.number = 32, .name = "dup", .traits = kQuick | kDescriptor1},
    {.number = 33, .name = "dup2", .traits = kQuick | kDescriptor1 | kDescriptor2},
    {.number = 34, .name = "pause", .traits = kMayWait, .waits = Waits::Elsewhere},
    {.number = 35, .name = "nanosleep", .handler = calls::nanosleep, .traits = kMayWait, .waits = Waits::Elsewhere, .limit = {0, TimeUnit::Timespec, false, 0}, .written = {bytes(1, 16)}},
    {.number = 36, .name = "getitimer", .traits = kQuick, .written = {bytes(1, 32)}},
    {.number = 37, .name = "alarm", .traits = kQuick},
    {.number = 38, .name = "setitimer", .traits = kQuick | kPointer2, .written = {bytes(2, 32)}},
    {.number = 39, .name = "getpid", .traits = kQuick | kIdResult},
    {.number = 40, .name = "sendfile", .traits = kDescriptor1 | kDescriptor2, .waits = Waits::Elsewhere, .written = {bytes(2, 8)}},
    {.number = 41, .name = "socket", .traits = kQuick},
    {.number = 42, .name = "connect", .traits = kMayWait | kDescriptor1 | kPointer2, .waits = Waits::Elsewhere},
    {.number = 43, .name = "accept", .traits = kMayWait | kDescriptor1, .waits = Waits::Input, .written = {sized_at(1, 2), bytes(2, 4)}},
    {.number = 44, .name = "sendto", .traits = kWritesFile | kDescriptor1 | kPointer2 | kPointer5, .waits = Waits::Output, .never_waits = {3, MSG_DONTWAIT}},
    {.number = 45, .name = "recvfrom", .traits = kMayWait | kDescriptor1, .waits = Waits::Input, .never_waits = {3, MSG_DONTWAIT}, .written = {sized(1, 2), sized_at(4, 5), bytes(5, 4)}},
    {.number = 46, .name = "sendmsg", .traits = kDescriptor1, .waits = Waits::Output, .never_waits = {2, MSG_DONTWAIT}, .descriptors = of_form(Found::Message, 1, 0), .read = message(1)},
    {.number = 47, .name = "recvmsg", .traits = kMayWait | kDescriptor1, .waits = Waits::Input, .never_waits = {2, MSG_DONTWAIT}, .written = {message(1)}},
    {.number = 48, .name = "shutdown", .traits = kQuick | kDescriptor1},
    {.number = 49, .name = "bind", .traits = kQuick | kDescriptor1 | kPointer2},
    {.number = 50, .name = "listen", .traits = kQuick | kDescriptor1},
    {.number = 51, .name = "getsockname", .traits = kQuick | kDescriptor1, .written = {sized_at(1, 2), bytes(2, 4)}},
    {.number = 52, .name = "getpeername", .traits = kQuick | kDescriptor1, .written = {sized_at(1, 2), bytes(2, 4)}},
    {.number = 53, .name = "socketpair", .traits = kQuick, .written = {bytes(3, 8)}},
    {.number = 54, .name = "setsockopt", .traits = kQuick | kDescriptor1 | kPointer4},
    {.number = 55, .name = "getsockopt", .traits = kQuick | kDescriptor1, .command = 2, .written = {sized_at(3, 4), bytes(4, 4)}},
    {.number = 56, .name = "clone", .handler = calls::clone, .traits = kIdResult, .written = {bytes(2, 4), bytes(3, 4)}},
    {.number = 57, .name = "fork", .handler = calls::fork, .traits = kIdResult},
    {.number = 58, .name = "vfork", .handler = calls::vfork, .traits = kIdResult},
    {.number = 59, .name = "execve", .handler = calls::execve, .traits = kEndsImage | kPointer1 | kPointer2 | kPointer3},
    {.number = 60, .name = "exit", .handler = calls::exit, .traits = kEndsImage},
    {.number = 61, .name = "wait4", .handler = calls::wait, .traits = kMayWait | kId1 | kIdResult, .usage = 3, .waits = Waits::Child, .never_waits = {2, WNOHANG}, .written = {bytes(1, 4), bytes(3, 144)}},
    {.number = 62, .name = "kill", .handler = calls::send_signal, .traits = kQuick | kId1},
    {.number = 63, .name = "uname", .handler = calls::uname, .traits = kQuick, .written = {bytes(0, 390)}},
    {.number = 64, .name = "semget", .traits = kQuick},
    {.number = 65, .name = "semop", .traits = kMayWait | kPointer2, .waits = Waits::Elsewhere},
    {.number = 66, .name = "semctl", .written = {bytes(3, 4096)}},
    {.number = 67, .name = "shmdt", .handler = calls::shmdt},
    {.number = 68, .name = "msgget", .traits = kQuick},
    {.number = 69, .name = "msgsnd", .traits = kPointer2, .waits = Waits::Elsewhere},
    {.number = 70, .name = "msgrcv", .traits = kMayWait, .waits = Waits::Elsewhere, .written = {sized(1, 2, 8)}},
    {.number = 71, .name = "msgctl", .written = {bytes(2, 256)}},
    {.number = 72, .name = "fcntl", .traits = kDescriptor1 | kQuick, .command = 1, .written = {bytes(2, 32)}},
    {.number = 73, .name = "flock", .traits = kMayWait | kDescriptor1, .waits = Waits::Elsewhere, .never_waits = {1, LOCK_NB}},
    {.number = 74, .name = "fsync", .traits = kDescriptor1},
    {.number = 75, .name = "fdatasync", .traits = kDescriptor1},
    {.number = 76, .name = "truncate", .traits = kQuick | kPointer1},
    {.number = 77, .name = "ftruncate", .traits = kQuick | kDescriptor1},
    {.number = 78, .name = "getdents", .traits = kQuick | kDescriptor1, .written = {sized(1, 2)}},
    {.number = 79, .name = "getcwd", .traits = kQuick, .written = {sized(0, 1)}},
    {.number = 80, .name = "chdir", .traits = kQuick, .path = 0},
    {.number = 81, .name = "fchdir", .traits = kQuick | kDescriptor1},
    {.number = 82, .name = "rename", .traits = kQuick | kPointer1 | kPointer2},
    {.number = 83, .name = "mkdir", .traits = kQuick | kPointer1},
    {.number = 84, .name = "rmdir", .traits = kQuick | kPointer1},
    {.number = 85, .name = "creat", .path = 0},
    {.number = 86, .name = "link", .traits = kQuick | kPointer1 | kPointer2},
    {.number = 87, .name = "unlink", .traits = kQuick | kPointer1},
    {.number = 88, .name = "symlink", .traits = kQuick | kPointer1 | kPointer2},
    {.number = 89, .name = "readlink", .traits = kReadsLink | kQuick, .path = 0, .written = {sized(1, 2)}},
    {.number = 90, .name = "chmod", .traits = kQuick, .path = 0},
    {.number = 91, .name = "fchmod", .traits = kQuick | kDescriptor1},
    {.number = 92, .name = "chown", .traits = kQuick, .path = 0},
    {.number = 93, .name = "fchown", .traits = kQuick | kDescriptor1},
    {.number = 94, .name = "lchown", .traits = kQuick | kPointer1},
    {.number = 95, .name = "umask", .traits = kQuick},
    {.number = 96, .name = "gettimeofday", .handler = calls::gettimeofday, .traits = kQuick, .written = {bytes(0, 16), bytes(1, 8)}},
    {.number = 97, .name = "getrlimit", .handler = calls::limits, .traits = kQuick, .written = {bytes(1, 16)}},
    {.number = 98, .name = "getrusage", .traits = kQuick, .usage = 1, .written = {bytes(1, 144)}},
    {.number = 99, .name = "sysinfo", .traits = kQuick, .written = {bytes(0, 112)}},
    {.number = 100, .name = "times", .handler = calls::times, .traits = kQuick, .written = {bytes(0, 32)}},
    {.number = 101, .name = "ptrace", .handler = calls::ptrace, .traits = kId2, .written = {bytes(3, 4096)}},
    {.number = 102, .name = "getuid", .traits = kQuick},
    {.number = 103, .name = "syslog", .written = {sized(1, 2)}},
    {.number = 104, .name = "getgid", .traits = kQuick},
    {.number = 105, .name = "setuid", .traits = kQuick},
    {.number = 106, .name = "setgid", .traits = kQuick},
    {.number = 107, .name = "geteuid", .traits = kQuick},
    {.number = 108, .name = "getegid", .traits = kQuick},
    {.number = 109, .name = "setpgid", .traits = kQuick | kId1 | kId2},
    {.number = 110, .name = "getppid", .traits = kQuick | kIdResult},
    {.number = 111, .name = "getpgrp", .traits = kQuick | kIdResult},
    {.number = 112, .name = "setsid", .traits = kQuick | kIdResult},
    {.number = 113, .name = "setreuid", .traits = kQuick},
    {.number = 114, .name = "setregid", .traits = kQuick},
    {.number = 115, .name = "getgroups", .traits = kQuick, .written = {array(1, 0, 4)}},
    {.number = 116, .name = "setgroups", .traits = kQuick | kPointer2},
    {.number = 117, .name = "setresuid", .traits = kQuick},
    {.number = 118, .name = "getresuid", .traits = kQuick, .written = {bytes(0, 4), bytes(1, 4), bytes(2, 4)}},
    {.number = 119, .name = "setresgid", .traits = kQuick},
    {.number = 120, .name = "getresgid", .traits = kQuick, .written = {bytes(0, 4), bytes(1, 4), bytes(2, 4)}},
    {.number = 121, .name = "getpgid", .traits = kQuick | kId1 | kIdResult},
    {.number = 122, .name = "setfsuid", .traits = kQuick},
    {.number = 123, .name = "setfsgid", .traits = kQuick},
    {.number = 124, .name = "getsid", .traits = kQuick | kId1 | kIdResult},
    {.number = 125, .name = "capget", .traits = kQuick | kPointer1, .written = {bytes(1, 24)}},
    {.number = 126, .name = "capset", .traits = kQuick | kPointer1 | kPointer2},
    {.number = 127, .name = "rt_sigpending", .handler = calls::rt_sigpending, .traits = kQuick, .written = {bytes(0, 8)}},
    {.number = 128, .name = "rt_sigtimedwait", .handler = calls::rt_sigtimedwait, .traits = kMayWait | kPointer1, .told_id = {1, offsetof(siginfo_t, si_pid)}, .waits = Waits::Elsewhere, .limit = {2, TimeUnit::Timespec, false, -EAGAIN}, .written = {bytes(1, 128)}},
    {.number = 129, .name = "rt_sigqueueinfo", .handler = calls::send_signal, .traits = kQuick | kId1 | kPointer3},
    {.number = 130, .name = "rt_sigsuspend", .handler = calls::masked_wait, .traits = kMayWait | kPointer1, .waits = Waits::Suspend, .mask = {0, Masked::Direct}},
    {.number = 131, .name = "sigaltstack", .handler = calls::sigaltstack, .traits = kPointer1 | kPointer2},
    {.number = 132, .name = "utime", .traits = kQuick | kPointer2, .path = 0},
    {.number = 133, .name = "mknod", .traits = kQuick | kPointer1},
    {.number = 134, .name = "uselib", .traits = kPointer1},
    {.number = 135, .name = "personality", .traits = kQuick},
    {.number = 136, .name = "ustat", .traits = kQuick, .written = {bytes(1, 32)}},
    {.number = 137, .name = "statfs", .traits = kQuick, .path = 0, .written = {bytes(1, 120)}},
    {.number = 138, .name = "fstatfs", .traits = kQuick | kDescriptor1, .written = {bytes(1, 120)}},
    {.number = 139, .name = "sysfs", .traits = kPointer2, .written = {bytes(2, 64)}},
    {.number = 140, .name = "getpriority", .traits = kQuick | kId2},
    {.number = 141, .name = "setpriority", .traits = kQuick | kId2},
    {.number = 142, .name = "sched_setparam", .traits = kQuick | kId1 | kPointer2},
    {.number = 143, .name = "sched_getparam", .traits = kQuick | kId1, .written = {bytes(1, 4)}},
    {.number = 144, .name = "sched_setscheduler", .traits = kQuick | kId1 | kPointer3},
    {.number = 145, .name = "sched_getscheduler", .traits = kQuick | kId1},
    {.number = 146, .name = "sched_get_priority_max", .traits = kQuick},
    {.number = 147, .name = "sched_get_priority_min", .traits = kQuick},
    {.number = 148, .name = "sched_rr_get_interval", .traits = kQuick | kId1, .written = {bytes(1, 16)}},
    {.number = 149, .name = "mlock", .traits = kQuick | kPointer1},
    {.number = 150, .name = "munlock", .traits = kQuick | kPointer1},
    {.number = 151, .name = "mlockall", .handler = calls::mlockall},
    {.number = 152, .name = "munlockall", .handler = calls::munlockall},
    {.number = 154, .name = "modify_ldt", .written = {sized(1, 2)}},
    {.number = 155, .name = "pivot_root", .traits = kPointer1 | kPointer2},
    {.number = 156, .name = "_sysctl", .traits = kPointer1},
    {.number = 157, .name = "prctl", .handler = calls::attribute, .traits = kQuick, .command = 0, .written = {bytes(1, 64)}},
    {.number = 158, .name = "arch_prctl", .handler = calls::attribute},
    {.number = 159, .name = "adjtimex", .written = {bytes(0, 208)}},
    {.number = 160, .name = "setrlimit", .handler = calls::limits, .traits = kPointer2},
    {.number = 161, .name = "chroot", .traits = kPointer1},
    {.number = 163, .name = "acct", .traits = kPointer1},
    {.number = 164, .name = "settimeofday", .traits = kPointer1 | kPointer2},
    {.number = 165, .name = "mount", .traits = kPointer1 | kPointer2 | kPointer3 | kPointer5},
    {.number = 166, .name = "umount2", .traits = kPointer1},
    {.number = 167, .name = "swapon", .traits = kPointer1},
    {.number = 168, .name = "swapoff", .traits = kPointer1},
    {.number = 169, .name = "reboot", .traits = kPointer4},
    {.number = 170, .name = "sethostname", .traits = kPointer1},
    {.number = 171, .name = "setdomainname", .traits = kPointer1},
    {.number = 175, .name = "init_module", .traits = kPointer1 | kPointer3},
    {.number = 176, .name = "delete_module", .traits = kPointer1},
    {.number = 179, .name = "quotactl", .traits = kPointer2, .written = {bytes(3, 256)}},
    {.number = 186, .name = "gettid", .traits = kQuick | kIdResult},
    {.number = 187, .name = "readahead", .traits = kDescriptor1},
    {.number = 188, .name = "setxattr", .traits = kPointer2 | kPointer3, .path = 0},
    {.number = 189, .name = "lsetxattr", .traits = kPointer1 | kPointer2 | kPointer3},
    {.number = 190, .name = "fsetxattr", .traits = kDescriptor1 | kPointer2 | kPointer3},
    {.number = 191, .name = "getxattr", .traits = kQuick | kPointer2, .path = 0, .written = {sized(2, 3)}},
    {.number = 192, .name = "lgetxattr", .traits = kQuick | kPointer1 | kPointer2, .written = {sized(2, 3)}},
    {.number = 193, .name = "fgetxattr", .traits = kQuick | kDescriptor1 | kPointer2, .written = {sized(2, 3)}},
    {.number = 194, .name = "listxattr", .traits = kQuick, .path = 0, .written = {sized(1, 2)}},
    {.number = 195, .name = "llistxattr", .traits = kQuick | kPointer1, .written = {sized(1, 2)}},
    {.number = 196, .name = "flistxattr", .traits = kQuick | kDescriptor1, .written = {sized(1, 2)}},
    {.number = 197, .name = "removexattr", .traits = kPointer2, .path = 0},
    {.number = 198, .name = "lremovexattr", .traits = kPointer1 | kPointer2},
    {.number = 199, .name = "fremovexattr", .traits = kDescriptor1 | kPointer2},
    {.number = 200, .name = "tkill", .handler = calls::send_signal, .traits = kQuick | kId1},
    {.number = 201, .name = "time", .handler = calls::time, .traits = kQuick, .written = {bytes(0, 8)}},
    {.number = 202, .name = "futex", .handler = calls::futex, .command = 1, .limit = {3, TimeUnit::Timespec, false, -ETIMEDOUT}, .written = {bytes(0, 4), bytes(4, 4)}},
    {.number = 203, .name = "sched_setaffinity", .handler = calls::sched_affinity, .traits = kQuick | kId1 | kPointer3},
    {.number = 204, .name = "sched_getaffinity", .handler = calls::sched_affinity, .traits = kQuick | kId1, .written = {sized(2, 1)}},
    {.number = 206, .name = "io_setup", .traits = kQuick, .written = {bytes(0, 8)}},
    {.number = 208, .name = "io_getevents", .traits = kMayWait | kPointer5, .waits = Waits::Elsewhere, .limit = {4, TimeUnit::Timespec, false, 0}, .written = {array(3, 2, 32)}},
    {.number = 209, .name = "io_submit", .written = {control_blocks(2, 1)}, .descriptors = of_form(Found::ControlBlocks, 2, 1)},
    {.number = 210, .name = "io_cancel", .traits = kPointer2, .written = {bytes(2, 32)}},
    {.number = 213, .name = "epoll_create", .traits = kQuick},
    {.number = 214, .name = "epoll_ctl_old", .traits = kQuick},
    {.number = 216, .name = "remap_file_pages", .handler = calls::remap_file_pages},
    {.number = 217, .name = "getdents64", .handler = calls::getdents64, .traits = kQuick | kDescriptor1, .written = {sized(1, 2)}},
    {.number = 218, .name = "set_tid_address", .handler = calls::set_tid_address, .traits = kQuick | kIdResult | kPointer1},
    {.number = 220, .name = "semtimedop", .traits = kMayWait | kPointer2, .waits = Waits::Elsewhere, .limit = {3, TimeUnit::Timespec, false, -EAGAIN}},
    {.number = 221, .name = "fadvise64", .traits = kQuick | kDescriptor1},
    {.number = 222, .name = "timer_create", .traits = kQuick | kPointer2, .written = {bytes(2, 4)}},
    {.number = 223, .name = "timer_settime", .traits = kQuick | kPointer3, .written = {bytes(3, 32)}},
    {.number = 224, .name = "timer_gettime", .traits = kQuick, .written = {bytes(1, 32)}},
    {.number = 225, .name = "timer_getoverrun", .traits = kQuick},
    {.number = 226, .name = "timer_delete", .traits = kQuick},
    {.number = 227, .name = "clock_settime", .traits = kPointer2},
    {.number = 228, .name = "clock_gettime", .handler = calls::clock_gettime, .traits = kQuick, .written = {bytes(1, 16)}},
    {.number = 229, .name = "clock_getres", .traits = kQuick, .written = {bytes(1, 16)}},
    {.number = 230, .name = "clock_nanosleep", .handler = calls::nanosleep, .traits = kMayWait, .waits = Waits::Elsewhere, .limit = {2, TimeUnit::Timespec, false, 0}, .written = {bytes(3, 16)}},
    {.number = 231, .name = "exit_group", .handler = calls::exit_group, .traits = kEndsImage},
    {.number = 232, .name = "epoll_wait", .traits = kMayWait | kDescriptor1, .waits = Waits::Poll, .limit = {3, TimeUnit::Milliseconds, false, 0}, .written = {array(1, 2, 12)}},
    {.number = 233, .name = "epoll_ctl", .traits = kQuick | kDescriptor1 | kDescriptor3 | kPointer4},
    {.number = 234, .name = "tgkill", .handler = calls::send_signal, .traits = kQuick | kId1 | kId2},
    {.number = 235, .name = "utimes", .traits = kQuick | kPointer2, .path = 0},
    {.number = 237, .name = "mbind", .traits = kQuick | kPointer1 | kPointer4},
    {.number = 238, .name = "set_mempolicy", .traits = kQuick | kPointer2},
    {.number = 239, .name = "get_mempolicy", .traits = kQuick | kPointer4, .written = {bytes(0, 4), bytes(1, 128)}},
    {.number = 240, .name = "mq_open", .traits = kPointer1 | kPointer4},
    {.number = 241, .name = "mq_unlink", .traits = kQuick | kPointer1},
    {.number = 242, .name = "mq_timedsend", .traits = kDescriptor1 | kPointer2 | kPointer5},
    {.number = 243, .name = "mq_timedreceive", .traits = kDescriptor1 | kPointer5, .written = {sized(1, 2), bytes(3, 4)}},
    {.number = 244, .name = "mq_notify", .traits = kDescriptor1, .descriptors = field_of(1, 64, 8)},
    {.number = 245, .name = "mq_getsetattr", .traits = kQuick | kDescriptor1 | kPointer2, .written = {bytes(2, 64)}},
    {.number = 246, .name = "kexec_load", .traits = kPointer3},
    {.number = 247, .name = "waitid", .handler = calls::wait, .traits = kMayWait, .command = 0, .usage = 4, .told_id = {2, offsetof(siginfo_t, si_pid)}, .waits = Waits::Child, .never_waits = {3, WNOHANG}, .written = {bytes(2, 128), bytes(4, 144)}},
    {.number = 248, .name = "add_key", .traits = kPointer1 | kPointer2 | kPointer3},
    {.number = 249, .name = "request_key", .traits = kPointer1 | kPointer2 | kPointer3},
    {.number = 250, .name = "keyctl", .written = {sized(2, 3)}},
    {.number = 251, .name = "ioprio_set", .traits = kQuick | kId2},
    {.number = 252, .name = "ioprio_get", .traits = kQuick | kId2},
    {.number = 253, .name = "inotify_init", .traits = kQuick},
    {.number = 254, .name = "inotify_add_watch", .traits = kQuick | kDescriptor1, .path = 1, .stays_at_link = {2, IN_DONT_FOLLOW}},
    {.number = 255, .name = "inotify_rm_watch", .traits = kQuick | kDescriptor1},
    {.number = 256, .name = "migrate_pages", .traits = kId1 | kPointer3 | kPointer4},
    {.number = 257, .name = "openat", .traits = kOpens | kDescriptor1, .path = 1},
    {.number = 258, .name = "mkdirat", .traits = kQuick | kDescriptor1 | kPointer2},
    {.number = 259, .name = "mknodat", .traits = kQuick | kDescriptor1 | kPointer2},
    {.number = 260, .name = "fchownat", .traits = kQuick | kDescriptor1, .path = 1, .stays_at_link = {4, AT_SYMLINK_NOFOLLOW}},
    {.number = 261, .name = "futimesat", .traits = kQuick | kDescriptor1 | kPointer3, .path = 1},
    {.number = 262, .name = "newfstatat", .traits = kTellsStatus | kQuick | kDescriptor1, .path = 1, .stays_at_link = {3, AT_SYMLINK_NOFOLLOW}, .written = {bytes(2, 144)}},
    {.number = 263, .name = "unlinkat", .traits = kQuick | kDescriptor1 | kPointer2},
    {.number = 264, .name = "renameat", .traits = kQuick | kDescriptor1 | kDescriptor3 | kPointer2 | kPointer4},
    {.number = 265, .name = "linkat", .traits = kQuick | kDescriptor1 | kDescriptor3 | kPointer2 | kPointer4},
    {.number = 266, .name = "symlinkat", .traits = kQuick | kDescriptor2 | kPointer1 | kPointer3},
    {.number = 267, .name = "readlinkat", .traits = kReadsLink | kQuick | kDescriptor1, .path = 1, .written = {sized(2, 3)}},
    {.number = 268, .name = "fchmodat", .traits = kQuick | kDescriptor1, .path = 1},
    {.number = 269, .name = "faccessat", .traits = kQuick | kDescriptor1, .path = 1},
    {.number = 270, .name = "pselect6", .handler = calls::masked_wait, .traits = kMayWait | kPointer6, .waits = Waits::Poll, .limit = {4, TimeUnit::Timespec, true, 0}, .mask = {5, Masked::Pair}, .written = {bytes(1, 128), bytes(2, 128), bytes(3, 128), bytes(4, 16)}, .descriptors = of_form(Found::Sets, 1, 0)},
    {.number = 271, .name = "ppoll", .handler = calls::masked_wait, .traits = kMayWait | kPointer4, .waits = Waits::Poll, .limit = {2, TimeUnit::Timespec, true, 0}, .mask = {3, Masked::Direct}, .written = {array(0, 1, 8), bytes(2, 16)}, .descriptors = polled(0, 1)},
    {.number = 273, .name = "set_robust_list", .traits = kQuick | kPointer1},
    {.number = 274, .name = "get_robust_list", .traits = kQuick | kId1, .written = {bytes(1, 8), bytes(2, 8)}},
    {.number = 275, .name = "splice", .traits = kDescriptor1 | kDescriptor3, .waits = Waits::Elsewhere, .written = {bytes(1, 8), bytes(3, 8)}},
    {.number = 276, .name = "tee", .traits = kDescriptor1 | kDescriptor2, .waits = Waits::Elsewhere},
    {.number = 277, .name = "sync_file_range", .traits = kDescriptor1},
    {.number = 278, .name = "vmsplice", .traits = kDescriptor1, .waits = Waits::Elsewhere, .written = {vectors(1, 2)}},
    {.number = 279, .name = "move_pages", .traits = kId1 | kPointer3 | kPointer4, .written = {array(4, 1, 4)}},
    {.number = 280, .name = "utimensat", .traits = kQuick | kDescriptor1 | kPointer3, .path = 1, .stays_at_link = {3, AT_SYMLINK_NOFOLLOW}},
    {.number = 281, .name = "epoll_pwait", .handler = calls::masked_wait, .traits = kMayWait | kDescriptor1 | kPointer5, .waits = Waits::Poll, .limit = {3, TimeUnit::Milliseconds, false, 0}, .mask = {4, Masked::Direct}, .written = {array(1, 2, 12)}},
    {.number = 282, .name = "signalfd", .traits = kQuick | kDescriptor1 | kPointer2},
    {.number = 283, .name = "timerfd_create", .traits = kQuick},
    {.number = 284, .name = "eventfd", .traits = kQuick},
    {.number = 285, .name = "fallocate", .traits = kDescriptor1},
    {.number = 286, .name = "timerfd_settime", .traits = kQuick | kDescriptor1 | kPointer3, .written = {bytes(3, 32)}},
    {.number = 287, .name = "timerfd_gettime", .traits = kQuick | kDescriptor1, .written = {bytes(1, 32)}},
    {.number = 288, .name = "accept4", .traits = kMayWait | kDescriptor1, .waits = Waits::Input, .written = {sized_at(1, 2), bytes(2, 4)}},
    {.number = 289, .name = "signalfd4", .traits = kQuick | kDescriptor1 | kPointer2},
    {.number = 290, .name = "eventfd2", .traits = kQuick},
    {.number = 291, .name = "epoll_create1", .traits = kQuick},
    {.number = 292, .name = "dup3", .traits = kQuick | kDescriptor1 | kDescriptor2},
    {.number = 293, .name = "pipe2", .traits = kQuick, .written = {bytes(0, 8)}},
    {.number = 294, .name = "inotify_init1", .traits = kQuick},
    {.number = 295, .name = "preadv", .traits = kReadsFile | kDescriptor1, .position = 3, .written = {vectors(1, 2)}},
    {.number = 296, .name = "pwritev", .traits = kWritesFile | kDescriptor1 | kPointer2, .position = 3, .read = vectors(1, 2)},
    {.number = 297, .name = "rt_tgsigqueueinfo", .handler = calls::send_signal, .traits = kQuick | kId1 | kId2 | kPointer4},
    {.number = 298, .name = "perf_event_open", .handler = calls::perf_event_open, .traits = kId2 | kDescriptor4 | kPointer1},
    {.number = 299, .name = "recvmmsg", .traits = kMayWait | kDescriptor1, .waits = Waits::Elsewhere, .written = {messages(1, 2), bytes(4, 16)}},
    {.number = 301, .name = "fanotify_mark", .traits = kDescriptor1 | kDescriptor4 | kPointer5},
    {.number = 302, .name = "prlimit64", .handler = calls::limits, .traits = kQuick | kId1 | kPointer3, .written = {bytes(3, 16)}},
    {.number = 303, .name = "name_to_handle_at", .traits = kDescriptor1 | kPointer2, .written = {bytes(2, 136), bytes(3, 4)}},
    {.number = 304, .name = "open_by_handle_at", .traits = kDescriptor1 | kPointer2},
    {.number = 305, .name = "clock_adjtime", .written = {bytes(1, 208)}},
    {.number = 306, .name = "syncfs", .traits = kDescriptor1},
    {.number = 307, .name = "sendmmsg", .traits = kDescriptor1, .waits = Waits::Elsewhere, .written = {messages(1, 2)}, .descriptors = of_form(Found::Messages, 1, 2)},
    {.number = 308, .name = "setns", .traits = kDescriptor1},
    {.number = 309, .name = "getcpu", .handler = calls::getcpu, .traits = kQuick, .written = {bytes(0, 4), bytes(1, 4)}},
    {.number = 310, .name = "process_vm_readv", .traits = kId1 | kPointer4, .written = {vectors(1, 2)}, .read = vectors(3, 4)},
    {.number = 311, .name = "process_vm_writev", .traits = kId1 | kPointer2, .written = {vectors(3, 4)}, .read = vectors(1, 2)},
    {.number = 312, .name = "kcmp", .traits = kQuick | kId1 | kId2, .command = 2},
    {.number = 313, .name = "finit_module", .traits = kDescriptor1 | kPointer2},
    {.number = 314, .name = "sched_setattr", .traits = kQuick | kId1 | kPointer2},
    {.number = 315, .name = "sched_getattr", .traits = kQuick | kId1, .written = {sized(1, 2)}},
    {.number = 316, .name = "renameat2", .traits = kQuick | kDescriptor1 | kDescriptor3 | kPointer2 | kPointer4},
    {.number = 317, .name = "seccomp", .handler = calls::attribute, .traits = kPointer3},
    {.number = 318, .name = "getrandom", .handler = calls::getrandom, .traits = kQuick, .written = {sized(0, 1)}},
    {.number = 319, .name = "memfd_create", .traits = kQuick | kPointer1},
    {.number = 320, .name = "kexec_file_load", .traits = kDescriptor1 | kDescriptor2 | kPointer4},
    {.number = 321, .name = "bpf", .written = {sized(1, 2)}},
    {.number = 322, .name = "execveat", .handler = calls::execveat, .traits = kEndsImage | kDescriptor1 | kPointer2 | kPointer3 | kPointer4},
    {.number = 324, .name = "membarrier", .traits = kQuick},
    {.number = 325, .name = "mlock2", .traits = kQuick | kPointer1},
    {.number = 326, .name = "copy_file_range", .traits = kDescriptor1 | kDescriptor3, .written = {bytes(1, 8), bytes(3, 8)}},
    {.number = 327, .name = "preadv2", .traits = kMayWait | kReadsFile | kDescriptor1, .waits = Waits::Input, .written = {vectors(1, 2)}},
    {.number = 328, .name = "pwritev2", .traits = kWritesFile | kDescriptor1 | kPointer2, .waits = Waits::Output, .read = vectors(1, 2)},
    {.number = 329, .name = "pkey_mprotect", .handler = calls::mprotect, .traits = kOnlyNames},
    {.number = 330, .name = "pkey_alloc", .handler = calls::pkey_alloc, .traits = kQuick},
    {.number = 331, .name = "pkey_free", .handler = calls::pkey_free, .traits = kQuick},
    {.number = 332, .name = "statx", .traits = kQuick | kDescriptor1, .path = 1, .stays_at_link = {2, AT_SYMLINK_NOFOLLOW}, .written = {bytes(4, 256)}},
    {.number = 333, .name = "io_pgetevents", .handler = calls::masked_wait, .traits = kMayWait | kPointer5 | kPointer6, .waits = Waits::Elsewhere, .limit = {4, TimeUnit::Timespec, false, 0}, .mask = {5, Masked::Pair, true}, .written = {array(3, 2, 32)}},
    {.number = 334, .name = "rseq", .handler = calls::rseq, .traits = kPointer1},
    {.number = 424, .name = "pidfd_send_signal", .traits = kQuick | kDescriptor1 | kPointer3},
    {.number = 425, .name = "io_uring_setup", .written = {bytes(1, 120)}, .descriptors = field_of(1, 120, 24)},
    {.number = 426, .name = "io_uring_enter", .handler = calls::masked_wait, .traits = kMayWait | kDescriptor1 | kPointer5, .waits = Waits::Elsewhere, .mask = {4, Masked::Ring, true}},
    {.number = 427, .name = "io_uring_register", .traits = kDescriptor1 | kPointer3, .command = 1},
    {.number = 428, .name = "open_tree", .traits = kDescriptor1 | kPointer2},
    {.number = 429, .name = "move_mount", .traits = kDescriptor1 | kDescriptor3 | kPointer2 | kPointer4},
    {.number = 430, .name = "fsopen", .traits = kQuick | kPointer1},
    {.number = 431, .name = "fsconfig", .traits = kDescriptor1 | kDescriptor5 | kPointer3 | kPointer4},
    {.number = 432, .name = "fsmount", .traits = kDescriptor1},
    {.number = 433, .name = "fspick", .traits = kDescriptor1 | kPointer2},
    {.number = 434, .name = "pidfd_open", .traits = kQuick | kId1},
    {.number = 435, .name = "clone3", .handler = calls::clone3, .traits = kIdResult | kPointer1},
    {.number = 436, .name = "close_range", .handler = calls::close_range},
    {.number = 437, .name = "openat2", .traits = kDescriptor1 | kPointer3, .path = 1},
    {.number = 438, .name = "pidfd_getfd", .traits = kQuick | kDescriptor1 | kDescriptor2},
    {.number = 439, .name = "faccessat2", .traits = kQuick | kDescriptor1, .path = 1, .stays_at_link = {3, AT_SYMLINK_NOFOLLOW}},
    {.number = 440, .name = "process_madvise", .traits = kDescriptor1 | kPointer2},
    {.number = 441, .name = "epoll_pwait2", .handler = calls::masked_wait, .traits = kMayWait | kDescriptor1 | kPointer5, .waits = Waits::Elsewhere, .limit = {3, TimeUnit::Timespec, false, 0}, .mask = {4, Masked::Direct}, .written = {array(1, 2, 12)}},
    {.number = 442, .name = "mount_setattr", .traits = kDescriptor1 | kPointer2 | kPointer4},
    {.number = 443, .name = "quotactl_fd", .traits = kDescriptor1 | kPointer4},
    {.number = 444, .name = "landlock_create_ruleset", .traits = kPointer1},
    {.number = 445, .name = "landlock_add_rule", .traits = kDescriptor1, .descriptors = field_of(2, 12, 8)},
    {.number = 446, .name = "landlock_restrict_self", .handler = calls::landlock_restrict_self, .traits = kDescriptor1},
    {.number = 448, .name = "process_mrelease", .traits = kDescriptor1},
    {.number = 449, .name = "futex_waitv", .handler = calls::futex, .traits = kMayWait | kPointer1 | kPointer4, .waits = Waits::Elsewhere, .limit = {3, TimeUnit::Timespec, false, -ETIMEDOUT}},
    {.number = 451, .name = "cachestat", .traits = kDescriptor1 | kPointer2, .written = {bytes(2, 40)}},
    {.number = 452, .name = "fchmodat2", .traits = kDescriptor1, .path = 1, .stays_at_link = {3, AT_SYMLINK_NOFOLLOW}},
    {.number = 453, .name = "map_shadow_stack", .handler = calls::map_shadow_stack},
    {.number = 454, .name = "futex_wake", .handler = calls::futex, .traits = kQuick | kPointer1},
    {.number = 455, .name = "futex_wait", .handler = calls::futex, .traits = kMayWait | kPointer1, .waits = Waits::Elsewhere, .limit = {4, TimeUnit::Timespec, false, -ETIMEDOUT}},
    {.number = 456, .name = "futex_requeue", .handler = calls::futex, .traits = kQuick | kPointer1},
    {.number = 457, .name = "statmount", .traits = kPointer1, .written = {sized(1, 2)}},
    {.number = 458, .name = "listmount", .traits = kPointer1, .written = {array(1, 2, 8)}},
    {.number = 459, .name = "lsm_get_self_attr", .traits = kPointer2, .written = {bytes(2, 4)}},
    {.number = 460, .name = "lsm_set_self_attr", .traits = kPointer2},
    {.number = 461, .name = "lsm_list_modules", .traits = kPointer1, .written = {bytes(1, 4)}},
    {.number = 462, .name = "mseal", .handler = calls::mseal},
    {.number = 463, .name = "setxattrat", .traits = kDescriptor1 | kPointer4 | kPointer5, .path = 1},
    {.number = 464, .name = "getxattrat", .traits = kDescriptor1 | kPointer4 | kPointer5, .path = 1},
    {.number = 465, .name = "listxattrat", .traits = kDescriptor1, .path = 1, .written = {sized(3, 4)}},
    {.number = 466, .name = "removexattrat", .traits = kDescriptor1 | kPointer4, .path = 1},
    {.number = 467, .name = "open_tree_attr", .traits = kDescriptor1 | kPointer2 | kPointer4},
    {.number = 468, .name = "file_getattr", .traits = kDescriptor1, .path = 1, .written = {sized(2, 3)}},
    {.number = 469, .name = "file_setattr", .traits = kDescriptor1 | kPointer3, .path = 1},
};
// clang-format on

constexpr bool is_sorted_by_number() {
  for (std::size_t i = 1; i < std::size(kCalls); ++i) {
    if (kCalls[i - 1].number >= kCalls[i].number) return false;
  }
  return true;
}
static_assert(is_sorted_by_number());

constexpr std::uint32_t found_pointers(const Call& call) {
  // What their arguments are depends on a command, and keys and words of another process look like addresses.
  if (call.number == SYS_keyctl || call.number == SYS_ptrace) return 0;
  std::uint32_t found = call.traits / kPointer1 & (2 * kPointer6 / kPointer1 - 1);
  const auto add = [&found](int argument) { found |= 1U << argument; };
  for (const WrittenMemory& written : call.written) {
    if (written.form != Form::None) add(written.argument);
    if (written.form == Form::SizedAt) add(written.count);
  }
  if (call.path >= 0) add(call.path);
  if (call.limit.unit == TimeUnit::Timeval || call.limit.unit == TimeUnit::Timespec) add(call.limit.argument);
  if (call.descriptors.form != Found::None) add(call.descriptors.argument);
  return found;
}

constexpr Call kUnknownCall;
/// By number; several facts are asked of each call.
constexpr auto kRows = [] {
  std::array<const Call*, 512> rows{};
  rows.fill(&kUnknownCall);
  for (const Call& call : kCalls) rows[static_cast<std::size_t>(call.number)] = &call;
  return rows;
}();

constexpr auto kPointers = [] {
  std::array<std::uint8_t, kRows.size()> pointers{};
  for (const Call& call : kCalls)
    pointers[static_cast<std::size_t>(call.number)] = static_cast<std::uint8_t>(found_pointers(call));
  return pointers;
}();

/// What one call writes, piece by piece.
class Pieces {
 public:
  void add(std::uint64_t address, std::uint64_t size) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 47;
    if (address == 0 || size == 0 || address >= kMost) return;
    found_.push_back({address, address + std::min(size, kMost - address)});
  }
  void add_vectors(std::uint64_t address, std::uint64_t count) {
    for (std::uint64_t i = 0; i < std::min(count, kMostPieces); ++i) {
      const auto piece = read_guest_value<iovec>(address + i * sizeof(iovec));
      if (!piece) return;
      add(reinterpret_cast<std::uint64_t>(piece->iov_base), piece->iov_len);
    }
  }
  void add_message(std::uint64_t address) {
    const auto header = read_guest_value<msghdr>(address);
    if (!header) return;
    add(address, sizeof(msghdr));
    add(reinterpret_cast<std::uint64_t>(header->msg_name), header->msg_namelen);
    add(reinterpret_cast<std::uint64_t>(header->msg_control), header->msg_controllen);
    add_vectors(reinterpret_cast<std::uint64_t>(header->msg_iov), header->msg_iovlen);
  }
  void add_messages(std::uint64_t address, std::uint64_t count) {
    for (std::uint64_t i = 0; i < std::min(count, kMostPieces); ++i) {
      add(address + i * sizeof(mmsghdr), sizeof(mmsghdr));
      add_message(address + i * sizeof(mmsghdr));
    }
  }
  void add_control_blocks(std::uint64_t address, std::uint64_t count) {
    for (std::uint64_t i = 0; i < std::min(count, kMostPieces); ++i) {
      const auto at = read_guest_value<std::uint64_t>(address + i * sizeof(std::uint64_t));
      const auto block = at ? read_guest_value<iocb>(*at) : std::nullopt;
      if (!block) return;
      if (block->aio_lio_opcode == IOCB_CMD_PREAD) add(block->aio_buf, block->aio_nbytes);
      if (block->aio_lio_opcode == IOCB_CMD_PREADV) add_vectors(block->aio_buf, block->aio_nbytes);
    }
  }
  std::vector<AddressRange> take() { return std::move(found_); }

 private:
  static constexpr std::uint64_t kMostPieces = 1024;  // UIO_MAXIOV
  std::vector<AddressRange> found_;
};

}  // namespace

const Call& call_of(long number) {
  return static_cast<std::uint64_t>(number) < kRows.size() ? *kRows[static_cast<std::size_t>(number)] : kUnknownCall;
}

mode_t mode_of_opened(const CallArguments& made) {
  struct stat about {};
  const int path = call_of(made.number).path;
  const long folder = path == 0 ? AT_FDCWD : made.a[0];
  return is_error(raw_syscall(SYS_newfstatat, folder, made.a[path], &about, 0)) ? 0 : about.st_mode;
}

std::uint32_t pointers_of(const Call& call) {
  return call.number < 0 ? 0 : kPointers[static_cast<std::size_t>(call.number)];
}

std::vector<AddressRange> written_by(const Call& call, const long (&arguments)[6]) {
  Pieces pieces;
  for (const WrittenMemory& written : call.written) {
    const auto address = static_cast<std::uint64_t>(arguments[written.argument]);
    const auto count = static_cast<std::uint64_t>(arguments[written.count]);
    switch (written.form) {
      case Form::None: break;
      case Form::Bytes: pieces.add(address, written.size); break;
      case Form::Sized: pieces.add(address, count + written.size); break;
      case Form::Array: pieces.add(address, std::min<std::uint64_t>(count, INT32_MAX) * written.size); break;
      case Form::SizedAt: pieces.add(address, read_guest_value<std::uint32_t>(count).value_or(0)); break;
      case Form::Vectors: pieces.add_vectors(address, count); break;
      case Form::Message: pieces.add_message(address); break;
      case Form::Messages: pieces.add_messages(address, count); break;
      case Form::ControlBlocks: pieces.add_control_blocks(address, count); break;
    }
  }
  return pieces.take();
}

}  // namespace zs::engine
