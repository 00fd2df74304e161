#include "engine/run/shown_ids.h"

#include <charconv>
#include <string_view>

namespace zs::engine {

std::int32_t ShownIds::real(std::int32_t id) const {
  if (id < 0 && id != INT32_MIN) return -real(-id);
  if (id == kVirtualParent && first_parent_ != 0) return first_parent_;
  if (id == kVirtualPid) return first_pid_;
  return others_.real(id);
}

std::int32_t ShownIds::shown(std::int32_t id) const {
  if (!differ()) return id;
  if (id < 0 && id != INT32_MIN) return -shown(-id);
  if (id == first_parent_ && id != 0) return kVirtualParent;
  if (id == first_pid_) return kVirtualPid;
  return others_.shown(id);
}

ThreadIdentity ShownIds::shown(ThreadIdentity id) const {
  if (!differ()) return id;
  for (std::int32_t* one : {&id.pid, &id.tid, &id.parent_pid, &id.parent_tid}) {
    if (*one == first_pid_)
      *one = kVirtualPid;
    else if (*one == first_parent_)
      *one = kVirtualParent;
  }
  return id;
}

siginfo_t ShownIds::shown_info(int signal, siginfo_t info) const {
  if (!differ()) return info;
  const bool of_child = signal == SIGCHLD && info.si_code > 0;
  const bool of_sender = info.si_code == SI_USER || info.si_code == SI_TKILL || info.si_code == SI_QUEUE;
  if (of_child || of_sender) info.si_pid = shown(info.si_pid);
  if (of_child) info.si_utime = info.si_stime = 0;
  return info;
}

std::optional<std::string> ShownIds::real_proc_path(const std::string& path) const {
  constexpr std::string_view kProc = "/proc/";
  std::int32_t id = 0;
  const char* const begin = path.data() + kProc.size();
  const auto [end, error] = std::from_chars(begin, path.data() + path.size(), id);
  if (!differ() || error != std::errc() || (end != path.data() + path.size() && *end != '/')) return std::nullopt;
  const std::int32_t kernels = real(id);
  if (kernels == id) return std::nullopt;
  return std::string(kProc) + std::to_string(kernels) + std::string(end, path.data() + path.size());
}

}  // namespace zs::engine
