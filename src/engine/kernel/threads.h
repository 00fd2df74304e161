// Threads and processes of the program begin and end. A thread of the program is a kernel thread with the program's own
// clone flags, so thread ids, robust lists and the clearing of the tid at exit are the kernel's work. All threads use
// the main thread's host TLS block in turn: only the holder of the engine lock runs C++.
#pragma once

#include <cstdint>

#include "engine/kernel/kernel_parts.h"

namespace zs::engine {

/// Chooses what the running thread runs next in translated code, which is the dispatcher's work.
class Resumes {
 public:
  virtual ~Resumes() = default;
  /// link_from  number of the exit that led here, to be linked; kNone: none
  /// returns where to enter the cache
  virtual std::uint64_t resume(std::uint32_t link_from) = 0;
};

/// As clone(2) has them, and behind them what clone3(2) alone has.
struct CloneRequest {
  std::uint64_t flags = 0, stack = 0, parent_tid = 0, child_tid = 0, tls = 0;
  std::uint64_t pidfd = 0;  // beside parent_tid, where both are asked for
  std::uint64_t set_tid = 0, set_tid_size = 0, cgroup = 0;

  bool is_of_clone3() const { return pidfd != 0 || set_tid_size != 0 || flags > UINT32_MAX; }
};

void thread_entry(Thread* thread);

class Threads {
 public:
  /// There is one at a time.
  Threads(KernelParts& parts, Resumes& dispatcher) : parts_(parts), dispatcher_(dispatcher) { instance = this; }

  /// or kInterruptedBeforeStart
  long clone(const CloneRequest& request);
  long clone3(std::uint64_t args, std::uint64_t size);
  /// The running thread, whose signals are held, goes on in translated code.
  [[noreturn]] void run_thread();
  [[noreturn]] void exit_thread(int status);
  [[noreturn]] void exit_process(int status);
  /// For later processes: this image is about to end.
  void keep_translations();

 private:
  friend void thread_entry(Thread* thread);
  static Threads* instance;

  [[noreturn]] void begin(Thread& thread);
  std::int32_t prepare_child(Thread& child, const CloneRequest& request);
  long clone_and_wait(Thread& child, const CloneRequest& request);
  long clone_child(Thread& child, const CloneRequest& request, const Thread& parent);
  void drop(const Thread& thread);
  long fork(const CloneRequest& request);
  void note_forked(std::int32_t pid, std::int32_t shown, const CloneRequest& request);
  void begin_forked(std::int32_t shown, int seat, const CloneRequest& request);
  void be_unrecorded();

  KernelParts& parts_;
  Resumes& dispatcher_;
};

}  // namespace zs::engine
