#include "host/perf_errors.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <cstdlib>

#include "host/diagnosis.h"
#include "host/machine_facts.h"

namespace zs::host {
namespace {

bool is_of_the_kernel(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_SOFTWARE || attr.type == PERF_TYPE_TRACEPOINT || attr.type == PERF_TYPE_BREAKPOINT;
}

std::string whom(Place place) {
  if (place.started) return "";
  if (place.tid > 0) return fmt::format(" for thread {}", place.tid);
  if (place.tid < 0) return fmt::format(" on CPU {}", place.cpu);
  return "";
}

/// EACCES and EPERM: three parties forbid with the same two numbers.
Error forbidden(int error, const std::string& what, Place place, const Permissions& permissions) {
  const std::string name = errno_name(error);
  if (permissions.privileged || !permissions.paranoid) {
    return {fmt::format("{}: {}: forbidden though this user may{}", what, name,
                        permissions.filtered ? ": a seccomp filter refuses perf_event_open" : ""),
            permissions.filtered ? "allow the system call perf_event_open in the container's seccomp profile"
                                 : "a security module may say why: look into the kernel's log"};
  }
  const int most = place.tid < 0 ? 0 : 2;  // a whole CPU: 0; a program in ring 3: 2
  if (*permissions.paranoid > most) {
    return {fmt::format("{}: {}: perf_event_paranoid is {}, and {} needs {} or less", what, name, *permissions.paranoid,
                        place.tid < 0 ? "a whole CPU" : "a program", most),
            fmt::format("as root: sysctl kernel.perf_event_paranoid={}, or give zeroskid CAP_PERFMON", most)};
  }
  if (permissions.filtered) {
    return {fmt::format("{}: {}: a seccomp filter refuses perf_event_open", what, name),
            "allow the system call perf_event_open in the container's seccomp profile"};
  }
  return {fmt::format("{}: {}: the process is another user's, or more privileged than we are", what, name),
          "ask as that user, or as root"};
}

}  // namespace

Permissions ask_permissions() {
  const MachineFacts facts = ask_this_machine();
  return {.paranoid = facts.perf.paranoid,
          .privileged = facts.perf.may_bypass_paranoid,
          .filtered = facts.seccomp_mode != 0};
}

bool may_see_the_kernel(const Permissions& permissions) {
  return permissions.privileged || (permissions.paranoid && *permissions.paranoid <= 1);
}

Error why_not_opened(int error, std::string_view name, const perf_event_attr& attr, Place place,
                     const Permissions& permissions) {
  const std::string what = fmt::format("{}{}: cannot be opened", name, whom(place));
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case ENXIO:
      if (is_of_the_kernel(attr)) break;
      return {fmt::format("{}: {}: this machine has no PMU that counts it", what, errno_name(error)),
              "`zeroskid doctor` says why; --pmu=sw counts it with the software PMU"};
    case EINVAL:
      if (attr.precise_ip != 0)
        return {fmt::format("{}: EINVAL: this event cannot be precise to {}", what, std::string(attr.precise_ip, 'p')),
                "fewer p, or :P for the most precise that there is"};
      return {fmt::format("{}: EINVAL: the kernel does not take this combination of options", what),
              "leave out options until it does; `zeroskid doctor` shows kernel and PMU"};
    case EACCES:
    case EPERM: return forbidden(error, what, place, permissions);
    case EMFILE:
      return {fmt::format("{}: EMFILE: each event takes a descriptor for each thread and CPU, and no more may be open",
                          what),
              "raise the limit: ulimit -n 65536; or fewer events, or -C with fewer CPUs"};
    case ENFILE: return {fmt::format("{}: ENFILE: the system has too many open files", what), ""};
    case ENOSPC:
      return {fmt::format("{}: ENOSPC: all breakpoint registers, or counters, are taken", what),
              "end what uses them, or count fewer at a time"};
    case EBUSY: return {fmt::format("{}: EBUSY: another has the PMU for itself", what), "try again when it has ended"};
    case ESRCH: return {fmt::format("{}: ESRCH: there is no such process or thread", what), "`ps` lists them"};
    case ENOSYS: return {fmt::format("{}: ENOSYS: the kernel was built without perf events", what), "--pmu=sw"};
    default: break;
  }
  return {fmt::format("{}: {}", what, errno_name(error)), ""};
}

Error why_no_ring(int error, std::size_t data_bytes) {
  const std::string what = fmt::format("a ring of {} KiB for records: {}", data_bytes / 1024, errno_name(error));
  switch (error) {
    case EPERM:
      return {what + ": more than a user may lock", "as root: sysctl kernel.perf_event_mlock_kb=4096; or a smaller -m"};
    case ENOMEM: return {what, "a smaller -m"};
    case EINVAL: return {what + ": not a power of two of pages", "-m 128"};
    default: return {what, ""};
  }
}

}  // namespace zs::host
