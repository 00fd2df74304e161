#include "engine/kernel/calls/call_commands.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/input.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/loop.h>
#include <linux/nbd.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace zs::engine {
namespace {

constexpr DescriptorsInMemory elements(std::int8_t count, std::uint8_t size, std::uint8_t offset) {
  return {.argument = 2, .count = count, .form = DescriptorsInMemory::Form::Array, .size = size, .offset = offset};
}
constexpr std::uint32_t kDuplicateQuery = 1027;  // F_DUPFD_QUERY, which older headers lack

// clang-format off
constexpr CallCommand kCommands[] = {
    {SYS_ioctl, FICLONE, kDescriptor3, kPointer3},
    {SYS_ioctl, LOOP_SET_FD, kDescriptor3, kPointer3},
    {SYS_ioctl, LOOP_CHANGE_FD, kDescriptor3, kPointer3},
    {SYS_ioctl, NBD_SET_SOCK, kDescriptor3, kPointer3},
    {SYS_ioctl, PERF_EVENT_IOC_SET_OUTPUT, kDescriptor3, kPointer3},
    {SYS_ioctl, PERF_EVENT_IOC_SET_BPF, kDescriptor3, kPointer3},
    {SYS_ioctl, FICLONERANGE, 0, 0, elements(DescriptorsInMemory::kOne, sizeof(file_clone_range), 0)},
    {SYS_fcntl, F_SETOWN, kId3, kPointer3},
    {SYS_fcntl, F_GETOWN, kIdResult, kPointer3},
    {SYS_fcntl, kDuplicateQuery, kDescriptor3, kPointer3},
    {SYS_waitid, P_PID, kId2},
    {SYS_waitid, P_PGID, kId2},
    {SYS_kcmp, KCMP_FILE, kDescriptor4 | kDescriptor5},
    {SYS_io_uring_register, IORING_REGISTER_FILES, 0, 0, elements(3, sizeof(int), 0)},
    {SYS_io_uring_register, IORING_REGISTER_EVENTFD, 0, 0, elements(DescriptorsInMemory::kOne, sizeof(int), 0)},
    {SYS_io_uring_register, IORING_REGISTER_EVENTFD_ASYNC, 0, 0, elements(DescriptorsInMemory::kOne, sizeof(int), 0)},
    {SYS_ioctl, BLKRASET, 0, kPointer3}, {SYS_ioctl, BLKFRASET, 0, kPointer3}, {SYS_ioctl, EVIOCGRAB, 0, kPointer3},
    {SYS_ioctl, EVIOCREVOKE, 0, kPointer3}, {SYS_ioctl, TCSBRK, 0, kPointer3}, {SYS_ioctl, TCSBRKP, 0, kPointer3},
    {SYS_ioctl, TCXONC, 0, kPointer3}, {SYS_ioctl, TCFLSH, 0, kPointer3}, {SYS_ioctl, TIOCSCTTY, 0, kPointer3},
    {SYS_ioctl, TIOCMIWAIT, 0, kPointer3},
    {SYS_fcntl, F_DUPFD, 0, kPointer3}, {SYS_fcntl, F_DUPFD_CLOEXEC, 0, kPointer3},
    {SYS_fcntl, F_SETFD, 0, kPointer3}, {SYS_fcntl, F_SETFL, 0, kPointer3}, {SYS_fcntl, F_SETSIG, 0, kPointer3},
    {SYS_fcntl, F_SETLEASE, 0, kPointer3}, {SYS_fcntl, F_NOTIFY, 0, kPointer3},
    {SYS_fcntl, F_SETPIPE_SZ, 0, kPointer3}, {SYS_fcntl, F_ADD_SEALS, 0, kPointer3},
    {SYS_prctl, PR_SET_TIMERSLACK, 0, kPointer2},
    // What libraries ask of a terminal, or of what may be one, and where others wait for nothing.
    {SYS_ioctl, TCGETS, kQuick}, {SYS_ioctl, TIOCGWINSZ, kQuick}, {SYS_ioctl, FIONREAD, kQuick},
    {SYS_ioctl, FIONBIO, kQuick}, {SYS_ioctl, FIOCLEX, kQuick}, {SYS_ioctl, FIONCLEX, kQuick},
    {.number = SYS_ioctl, .command = TIOCGPGRP, .traits = kQuick, .told_id = {2, 0}},
    {.number = SYS_ioctl, .command = TIOCGSID, .traits = kQuick, .told_id = {2, 0}},
    {.number = SYS_fcntl, .command = F_GETLK, .told_id = {2, offsetof(struct flock, l_pid)}},
    {.number = SYS_fcntl, .command = F_OFD_GETLK, .told_id = {2, offsetof(struct flock, l_pid)}},
    {.number = SYS_fcntl, .command = F_SETLKW, .waits = Waits::Elsewhere},
    {.number = SYS_fcntl, .command = F_OFD_SETLKW, .waits = Waits::Elsewhere},
    {.number = SYS_getsockopt, .command = SO_PEERCRED, .told_id = {3, offsetof(ucred, pid)}},
    {SYS_futex, FUTEX_WAKE, kQuick}, {SYS_futex, FUTEX_WAKE_BITSET, kQuick}, {SYS_futex, FUTEX_WAKE_OP, kQuick},
    {SYS_futex, FUTEX_REQUEUE, kQuick}, {SYS_futex, FUTEX_CMP_REQUEUE, kQuick}, {SYS_futex, FUTEX_UNLOCK_PI, kQuick},
    {SYS_futex, FUTEX_TRYLOCK_PI, kMayWait}, {SYS_futex, FUTEX_CMP_REQUEUE_PI, kMayWait},
    {.number = SYS_futex, .command = FUTEX_WAIT, .traits = kMayWait, .waits = Waits::Elsewhere},
    {.number = SYS_futex, .command = FUTEX_WAIT_BITSET, .traits = kMayWait, .waits = Waits::Elsewhere},
    {.number = SYS_futex, .command = FUTEX_LOCK_PI, .traits = kMayWait, .waits = Waits::Elsewhere},
    {.number = SYS_futex, .command = FUTEX_LOCK_PI2, .traits = kMayWait, .waits = Waits::Elsewhere},
    {.number = SYS_futex, .command = FUTEX_WAIT_REQUEUE_PI, .traits = kMayWait, .waits = Waits::Elsewhere},
};
// clang-format on

/// Of ioctl: what neither reads nor writes takes a number, if its command is of the kind that says so. Older ones never
/// do. source: Linux, Documentation/userspace-api/ioctl/ioctl-number.rst
bool says_that_it_takes_a_number(std::uint32_t command) {
  constexpr std::uint32_t kOlder[] = {0x00, 0x02, 0x03, 0x06, 0x12, 0x22, 'K', 'L', 'S', 'T', 'V', 0x89};
  return _IOC_DIR(command) == _IOC_NONE && std::ranges::find(kOlder, _IOC_TYPE(command)) == std::end(kOlder);
}

}  // namespace

CallCommand command_of(const CallArguments& made) {
  const int at = call_of(made.number).command;
  if (at < 0) return {};
  const std::uint32_t mask = made.number == SYS_futex ? FUTEX_CMD_MASK : UINT32_MAX;
  const auto command = static_cast<std::uint32_t>(made.a[at]) & mask;
  const auto* const row = std::ranges::find_if(
      kCommands, [&](const CallCommand& each) { return each.number == made.number && each.command == command; });
  if (row != std::end(kCommands)) return *row;
  return {.no_pointer = made.number == SYS_ioctl && says_that_it_takes_a_number(command) ? kPointer3 : 0U};
}

Waits waits_for(const CallArguments& made) {
  const Call& call = call_of(made.number);
  if (call.has(kOpens)) return S_ISFIFO(mode_of_opened(made)) ? Waits::Elsewhere : Waits::Never;
  if (call.never_waits.is_set(made)) return Waits::Never;
  return call.command < 0 || call.waits != Waits::Never ? call.waits : command_of(made).waits;
}

}  // namespace zs::engine
