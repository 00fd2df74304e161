// Why perf_event_open(2) refused, in words, and what would change that. Pure functions: errno alone says too little,
// because the kernel has one number for several reasons.
// source: perf_event_open(2), "ERRORS"; Documentation/admin-guide/perf-security.rst.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct perf_event_attr;

namespace zs::host {

/// What an event was to count: tid and cpu as perf_event_open(2) has them, -1 for any.
struct Place {
  pid_t tid = -1;
  int cpu = -1;
  bool started = false;  // the thread is the program's that we start
  bool operator==(const Place&) const = default;
};

/// What decides besides errno.
struct Permissions {
  std::optional<int> paranoid;  // /proc/sys/kernel/perf_event_paranoid
  bool privileged = false;      // CAP_PERFMON or CAP_SYS_ADMIN is effective
  bool filtered = false;        // a seccomp filter is on, as in containers
};
Permissions ask_permissions();

/// Whether events may count in ring 0 too.
bool may_see_the_kernel(const Permissions& permissions);

/// error  errno of perf_event_open
Error why_not_opened(int error, std::string_view name, const perf_event_attr& attr, Place place,
                     const Permissions& permissions);

/// error  errno of mmap
Error why_no_ring(int error, std::size_t data_bytes);

}  // namespace zs::host
