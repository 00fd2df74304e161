// Who kills a process group reaches the profiled program and us; who kills our process alone means the program and
// reaches it only if we pass the signal on. What the kernel says with a signal does not tell one from the other. So a
// process of our group, which blocks all signals and does nothing, stands beside us: what is pending there was sent to
// the group. It shares our memory, holds no descriptor, and ends with us.
#pragma once

#include <sys/types.h>

namespace zs::cli {

class GroupWitness {
 public:
  /// Where no process can be made, there is none, and no signal counts as the group's.
  GroupWitness() { begin(); }
  ~GroupWitness() { end(); }
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether `signal` was sent to all of the group since the witness began. Ask some milliseconds after it came: the
  /// kernel tells the processes of a group one after the other.
  bool saw(int signal) const;
  /// Forgets what it saw.
  void begin_anew();

 private:
  void begin();
  void end();

  pid_t process_ = -1;
  pid_t ours_ = -1;  // the process that it stands beside
  alignas(16) char stack_[4096];
};

}  // namespace zs::cli
