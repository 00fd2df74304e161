#include "cli/run/group_witness.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>

#include "engine/raw_syscall.h"

namespace zs::cli {
namespace {

/// The pending signals of a process: bit N - 1 for signal N (proc(5), "/proc/pid/status", ShdPnd).
std::uint64_t pending_signals(pid_t process) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/status", process);
  std::FILE* const status = std::fopen(path, "re");
  if (status == nullptr) return 0;
  std::uint64_t pending = 0;
  for (char line[256]; std::fgets(line, sizeof line, status) != nullptr;) {
    if (std::sscanf(line, "ShdPnd: %" SCNx64, &pending) == 1) break;
  }
  std::fclose(status);
  return pending;
}

/// ours  process id, a pid_t
int stand_by(void* ours) {
  // By a call that leaves errno alone: it is the collector's, as all memory is.
  engine::raw_syscall(SYS_close_range, 0, ~0U, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (getppid() == *static_cast<const pid_t*>(ours)) pause();
  _exit(0);
}

}  // namespace

bool GroupWitness::saw(int signal) const {
  return process_ > 0 && (pending_signals(process_) >> (signal - 1) & 1) != 0;
}

void GroupWitness::begin_anew() {
  end();
  begin();
}

void GroupWitness::begin() {
  ours_ = getpid();
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  // Its table of descriptors is its own: to enlarge one that is shared, which the launch of the program does, the
  // kernel waits until no processor can be reading it any more, for 10 to 20 ms.
  // No signal at its end: nobody who waits for children is to hear of it.
  process_ = clone(stand_by, stack_ + sizeof stack_, CLONE_VM | CLONE_FS, &ours_);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

void GroupWitness::end() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, __WCLONE);
  process_ = -1;
}

}  // namespace zs::cli
