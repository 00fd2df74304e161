// What ran before a recording began: the kernel tells of threads and mappings when they come, so those that are there
// already are read from /proc, and told as if they came at time 0.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zs::host {

struct RunningThread {
  pid_t tid = 0;
  std::string name;
};

/// A line of /proc/PID/maps.
struct RunningMapping {
  std::uint64_t start = 0, end = 0, file_offset = 0;
  std::uint32_t protection = 0;  // PROT_*
  bool shared = false;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  std::string path;  // "": anonymous
  bool operator==(const RunningMapping&) const = default;
};

struct RunningProcess {
  pid_t pid = 0, parent = 0;
  std::vector<RunningThread> threads;  // the first is the process's own
  std::vector<RunningMapping> mappings;
};

/// Nothing if the line is none.
std::optional<RunningMapping> parse_mapping(std::string_view line);

/// Nothing if there is no such process, or it ended meanwhile.
std::optional<RunningProcess> look_at_process(pid_t pid);

std::vector<pid_t> all_processes();

/// "" where there is no such thread.
std::string name_of_thread(pid_t thread);

/// Whether there is such a thread, and it is more than what its parent has not waited for yet.
bool is_running(pid_t thread);

/// The threads that a process has now; empty: there is no such process.
std::vector<pid_t> threads_of(pid_t process);

/// The process that a thread belongs to; nothing if there is none.
std::optional<pid_t> process_of(pid_t thread);

}  // namespace zs::host
