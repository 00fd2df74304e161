#include "engine/memory/memory_locks.h"

#include <errno.h>
#include <sys/mman.h>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kMlockOnfault = 1;  // Linux, uapi/asm-generic/mman-common.h

}  // namespace

long MemoryLocks::lock_all(int flags) {
  if (flags == 0 || flags == MCL_ONFAULT || (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) != 0) return -EINVAL;
  const int how = (flags & MCL_ONFAULT) != 0 ? kMlockOnfault : 0;
  long result = 0;
  if ((flags & MCL_CURRENT) != 0) {
    // As the kernel does, all or nothing by the limit; then what cannot be populated stays locked all the same.
    mappings_.for_each([&](const GuestMapping& mapping) {
      if (result != 0) return;
      const long locked = raw_syscall(SYS_mlock2, mapping.start, mapping.range().size(), how);
      if (locked == -EPERM || (locked == -ENOMEM && mapping.prot != PROT_NONE)) result = locked;
    });
    if (result != 0) unlock_all();
  }
  if (result == 0) locks_future_ = (flags & MCL_FUTURE) != 0 ? std::optional(how) : std::nullopt;
  return result;
}

long MemoryLocks::unlock_all() {
  locks_future_.reset();
  mappings_.for_each(
      [](const GuestMapping& mapping) { raw_syscall(SYS_munlock, mapping.start, mapping.range().size()); });
  return 0;
}

void MemoryLocks::lock_new(AddressRange range) const {
  if (locks_future_) raw_syscall(SYS_mlock2, range.start, range.size(), *locks_future_);
}

}  // namespace zs::engine
