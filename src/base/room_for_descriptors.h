// Descriptors of ours have numbers that programs do not reach by counting up, mostly above the soft limit (`ulimit
// -n`): the program cannot make one there, so none of ours is in its way. The kernel lets nobody make one there while
// the limit is as it is.
#pragma once

#include <sys/resource.h>

namespace zs {

/// Raises the soft limit on descriptors to the hard one, as long as it lives.
class RoomForDescriptors {
 public:
  RoomForDescriptors() {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0 || before_.rlim_cur == before_.rlim_max) return;
    const rlimit all{.rlim_cur = before_.rlim_max, .rlim_max = before_.rlim_max};
    raised_ = setrlimit(RLIMIT_NOFILE, &all) == 0;
  }
  RoomForDescriptors(const RoomForDescriptors&) = delete;
  RoomForDescriptors& operator=(const RoomForDescriptors&) = delete;
  ~RoomForDescriptors() { lower(); }
  /// Back to what it was, before the end.
  void lower() {
    if (raised_) setrlimit(RLIMIT_NOFILE, &before_);
    raised_ = false;
  }

 private:
  rlimit before_{};
  bool raised_ = false;
};

}  // namespace zs
