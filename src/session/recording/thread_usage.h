// What the kernel counted for one thread of this process: the software events. The tool runs on the same thread, so its
// translating and recording is in these numbers too.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace zs::session {

struct ThreadUsage {
  std::uint64_t task_clock_ns = 0;
  std::uint64_t context_switches = 0;
  std::uint64_t minor_faults = 0;  // page faults served without input
  std::uint64_t major_faults = 0;  // those that waited for it
};

/// tid  of this process; zeros for one that is gone
ThreadUsage thread_usage(pid_t tid);

}  // namespace zs::session
