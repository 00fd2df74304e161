#include "engine/kernel/calls/host_kernel.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

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

}  // namespace

// Whether other threads wait while the kernel does this. Only a call that may have to wait for one of them gives its
// turn away: then the kernel decides who is next, and two runs may differ.
bool HostKernel::keeps_turn(const CallArguments& made, const CallCommand& command) {
  const Call& call = call_of(made.number);
  if (((call.traits | command.traits) & kQuick) != 0 && command.waits == Waits::Never) return true;
  if (call.has(kOpens)) {
    const mode_t mode = mode_of_opened(made);
    return mode == 0 || S_ISREG(mode) || S_ISDIR(mode);
  }
  const bool bytes = made.number == SYS_write || made.number == SYS_sendto;
  return (call.traits & (kReadsFile | kWritesFile)) != 0 &&
         is_over_at_once(made.i32(0), call.has(kWritesFile) && bytes && made.u(2) <= PIPE_BUF);
}

long HostKernel::call(const CallArguments& made) {
  Thread& thread = *threads_.thread;
  const Call& call = call_of(made.number);
  const CallCommand command = command_of(made);
  const bool may_wait = ((call.traits | command.traits) & kMayWait) != 0;  // for long, and be killed
  const bool stays = threads_.threads.size() == 1 || (!awaited_.any() && keeps_turn(made, command));
  // The kernel would stop at a page that is write-protected only because it has translations.
  if (memory_.map.code().protected_pages() != 0) {
    for (const AddressRange& written : written_by(call, made.a)) memory_.map.code().open(written);
  }
  if (may_wait) threads_.observer().flush(threads_.shown());
  if (!stays) turns_.give_up();
  long result = turn_calls_.call(thread, made);
  if (awaited_.any() && call.has(kReadsFaults)) result = awaited_.read_again(made, result);
  if (!stays) {
    // This thread's own variables only, until the lock is back.
    turns_.come_back(thread);
    if (thread.cpu.core != nullptr) thread.cpu.core->wait_until(turns_.latest_core_time());
  }
  if (may_wait) thread.interrupted = true;
  if (made.number == SYS_ioctl) awaited_.note_ioctl(made, result);
  files_.note_call(made, result);
  return result;
}

}  // namespace zs::engine
