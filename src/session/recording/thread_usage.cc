#include "session/recording/thread_usage.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/loader/shown_process.h"

namespace zs::session {
namespace {

std::uint64_t nanoseconds(const timespec& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

ThreadUsage usage_of_this_thread() {
  ThreadUsage usage;
  timespec cpu{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) usage.task_clock_ns = nanoseconds(cpu);
  rusage r{};
  if (getrusage(RUSAGE_THREAD, &r) == 0) {
    usage.context_switches = static_cast<std::uint64_t>(r.ru_nvcsw + r.ru_nivcsw);
    usage.minor_faults = static_cast<std::uint64_t>(r.ru_minflt);
    usage.major_faults = static_cast<std::uint64_t>(r.ru_majflt);
  }
  return usage;
}

/// A file of /proc/self/task/TID, as much as fits.
bool read_task_file(pid_t tid, const char* name, char* text, std::size_t size) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, text, size - 1);
  close(fd);
  if (got < 0) return false;
  text[got] = '\0';
  return true;
}

std::uint64_t number_after(const char* text, const char* label) {
  const char* const at = std::strstr(text, label);
  return at == nullptr ? 0 : std::strtoull(at + std::strlen(label), nullptr, 10);
}

/// The CPU-time clock of another thread: clock_getcpuclockid(3) and pthread_getcpuclockid(3) compute the same number.
clockid_t cpu_clock_of(pid_t tid) { return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6U); }

}  // namespace

ThreadUsage thread_usage(pid_t tid) {
  if (tid == gettid()) return usage_of_this_thread();
  ThreadUsage usage;
  timespec cpu{};
  if (clock_gettime(cpu_clock_of(tid), &cpu) == 0) usage.task_clock_ns = nanoseconds(cpu);
  char text[4096];
  if (read_task_file(tid, "stat", text, sizeof text)) {
    constexpr int kMinorFaults = 10, kMajorFaults = 12;
    usage.minor_faults = engine::stat_field(text, kMinorFaults);
    usage.major_faults = engine::stat_field(text, kMajorFaults);
  }
  if (read_task_file(tid, "status", text, sizeof text)) {
    usage.context_switches =
        number_after(text, "\nvoluntary_ctxt_switches:") + number_after(text, "nonvoluntary_ctxt_switches:");
  }
  return usage;
}

}  // namespace zs::session
