// Process ids as the program and its recording see them under --virtual-time: the first process and its parent have
// numbers of their own (kVirtualPid, kVirtualParent), other processes those of ProcessIds. Without virtual ids, the
// kernel's.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "engine/observer.h"
#include "engine/run/process_ids.h"

namespace zs::engine {

class ShownIds {
 public:
  /// `pid` and `parent`: the kernel's ids of the first process, and of its parent if that is zeroskid (otherwise 0).
  void begin(std::int32_t pid, std::int32_t parent) { first_pid_ = pid, first_parent_ = parent; }
  bool differ() const { return first_pid_ != 0; }
  ProcessIds& others() { return others_; }

  /// The kernel's id for one that the program has, and back. Negative ones name process groups.
  std::int32_t real(std::int32_t id) const;
  std::int32_t shown(std::int32_t id) const;
  /// As the recording has it, which gives ids of its own to other processes.
  ThreadIdentity shown(ThreadIdentity id) const;
  /// A signal's, as the program may see it.
  siginfo_t shown_info(int signal, siginfo_t info) const;
  /// /proc/ID/... of a process that is shown another number than the kernel's; none: the path is as it should be.
  std::optional<std::string> real_proc_path(const std::string& path) const;

 private:
  std::int32_t first_pid_ = 0;     // real id of the process that shows kVirtualPid; 0 none
  std::int32_t first_parent_ = 0;  // of the one that shows kVirtualParent
  ProcessIds others_;
};

}  // namespace zs::engine
