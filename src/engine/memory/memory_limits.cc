#include "engine/memory/memory_limits.h"

#include <errno.h>
#include <linux/capability.h>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kResources[] = {RLIMIT_AS, RLIMIT_DATA};

bool may_raise_hard_limits() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return raw_syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_SYS_RESOURCE & 1) != 0;
}

}  // namespace

void MemoryLimits::lift() {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    raw_syscall(SYS_prlimit64, 0, kResources[i], nullptr, &limits_[i]);
    if (limits_[i].rlim_cur == RLIM_INFINITY) continue;
    constexpr rlimit kNone{RLIM_INFINITY, RLIM_INFINITY};
    const rlimit highest{limits_[i].rlim_max, limits_[i].rlim_max};
    if (limits_[i].rlim_max == RLIM_INFINITY || is_error(raw_syscall(SYS_prlimit64, 0, kResources[i], &kNone, nullptr)))
      raw_syscall(SYS_prlimit64, 0, kResources[i], &highest, nullptr);
  }
}

void MemoryLimits::put_back() const {
  for (std::size_t i = 0; i < limits_.size(); ++i) raw_syscall(SYS_prlimit64, 0, kResources[i], &limits_[i], nullptr);
}

long MemoryLimits::set(int resource, const rlimit& wanted) {
  rlimit& limit = limits_[resource == RLIMIT_AS ? 0 : 1];
  if (wanted.rlim_cur > wanted.rlim_max) return -EINVAL;
  if (wanted.rlim_max > limit.rlim_max && !may_raise_hard_limits()) return -EPERM;
  limit = wanted;
  return 0;
}

}  // namespace zs::engine
