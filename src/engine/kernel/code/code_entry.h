// Translated code that is about to run, as signal handlers and the dispatcher tell one another of it: a handler must
// know whether the dispatcher will look at what is pending, or has looked for the last time.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "engine/run.h"

namespace zs::engine {

class CodeEntry {
 public:
  explicit CodeEntry(Run& run) : run_(run) {}

  /// Past the last look at Thread::pending before translated code runs.
  void begin() { entering_.store(true); }
  void end() { entering_.store(false); }
  bool begun() const { return entering_.load(); }

  /// In a handler: the next append leaves translated code.
  void trip() {
    if (tripped_.exchange(true)) return;
    run_.trace().trip();
    run_.context.tripped = 1;
  }
  /// returns whether it was tripped
  bool untrip() {
    if (!tripped_.exchange(false)) return false;
    run_.trace().untrip();
    return true;
  }

  /// Cache address of a direct lookup that left its table.
  void note_far_lookup(std::uint64_t at) { far_lookup_ = at; }
  std::uint64_t take_far_lookup() { return std::exchange(far_lookup_, 0); }

  /// The program's stack pointer, where it is not canonical and a handler has left translated code: the kernel cannot
  /// go on with it.
  void keep_odd_stack_pointer(std::uint64_t value) { odd_stack_pointer_ = value; }
  /// 0: there was none
  std::uint64_t take_odd_stack_pointer() { return std::exchange(odd_stack_pointer_, 0); }

 private:
  Run& run_;
  std::atomic<bool> entering_{false};
  std::atomic<bool> tripped_{false};  // the trace is unmapped so that the next append faults
  std::uint64_t far_lookup_ = 0;
  std::uint64_t odd_stack_pointer_ = 0;
};

}  // namespace zs::engine
