#include "engine/kernel/host_kernel.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <iterator>

#include "engine/kernel/call_table.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Of ioctl: what libraries ask of a terminal, or of what may be one, and where others wait for nothing.
bool only_asks(std::uint32_t command) {
  constexpr std::uint32_t kAnswered[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, TIOCGSID, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
  return std::ranges::find(kAnswered, command) != std::end(kAnswered);
}

/// Whether the engine lock stays with the caller (kQuick).
bool is_quick(const Call& call, const long (&a)[6]) {
  if (call.number == SYS_fcntl) return a[1] != F_SETLKW && a[1] != F_OFD_SETLKW;
  if (call.number == SYS_ioctl) return only_asks(static_cast<std::uint32_t>(a[1]));
  if (call.number != SYS_futex) return call.has(kQuick);
  const long operation = a[1] & FUTEX_CMD_MASK;
  return operation == FUTEX_WAKE || operation == FUTEX_WAKE_OP || operation == FUTEX_REQUEUE ||
         operation == FUTEX_CMP_REQUEUE || operation == FUTEX_UNLOCK_PI || operation == FUTEX_WAKE_BITSET;
}

/// Whether it is over at once: of a regular file and of a memory device (/dev/null and its kin) always; a few bytes
/// also go into a pipe or a socket that has room. What can be read there now may be gone to another process by then.
bool is_over_at_once(int fd, bool writes_few_bytes) {
  constexpr unsigned kMemoryDevices = 1;  // source: Linux, admin-guide/devices.txt
  struct stat about {};
  if (raw_syscall(SYS_fstat, fd, &about) != 0) return true;
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) return true;
  if (S_ISCHR(about.st_mode) && major(about.st_rdev) == kMemoryDevices) return true;
  pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
  return writes_few_bytes && raw_syscall(SYS_poll, &room, 1, 0) == 1;
}

/// Whether a thread may stay in it for long, and be killed.
bool may_wait(const Call& call, const long (&a)[6]) {
  return call.has(kMayWait) || (call.number == SYS_futex && !is_quick(call, a));
}

}  // namespace

// Whether other threads wait while the kernel does this. Only a call that may have to wait for one of them gives its
// turn away: then the kernel decides who is next, and two runs may differ.
bool HostKernel::keeps_turn(long number, const long (&a)[6]) const {
  const Call& call = call_of(number);
  if (is_quick(call, a)) return true;
  if (call.has(kOpens)) {
    const mode_t mode = mode_of_opened(call, a);
    return mode == 0 || S_ISREG(mode) || S_ISDIR(mode);
  }
  const bool few_bytes = (number == SYS_write || number == SYS_sendto) && a[2] >= 0 && a[2] <= PIPE_BUF;
  return (call.traits & (kReadsFile | kWritesFile)) != 0 &&
         is_over_at_once(static_cast<int>(a[0]), call.has(kWritesFile) && few_bytes);
}

long HostKernel::call(long number, const long (&a)[6]) {
  Thread& thread = *threads_.thread;
  const bool stays = threads_.threads.size() == 1 || (!awaited_.any() && keeps_turn(number, a));
  // The kernel would stop at a page that is write-protected only because it has translations.
  if (memory_.map.code().protected_pages() != 0) {
    for (const AddressRange& written : written_by(call_of(number), a)) memory_.map.code().open(written);
  }
  if (may_wait(call_of(number), a)) threads_.observer().flush(threads_.shown());
  if (!stays) turns_.give_up();
  long result = turn_calls_.call(thread, number, a);
  if (awaited_.any() && call_of(number).has(kReadsFaults)) result = awaited_.read_again(number, a, result);
  if (!stays) {
    // This thread's own variables only, until the lock is back.
    turns_.come_back(thread);
    if (thread.cpu.core != nullptr) thread.cpu.core->wait_until(turns_.latest_core_time());
  }
  if (may_wait(call_of(number), a)) thread.interrupted = true;
  awaited_.note_call(number, a, result);
  files_.note_call(number, a, result);
  return result;
}

}  // namespace zs::engine
