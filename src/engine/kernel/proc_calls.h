// System calls of the program on what would show the engine: files under /proc, and descriptors of the tool.
#pragma once

#include <optional>

#include "engine/kernel/code_files.h"
#include "engine/kernel/host_kernel.h"
#include "engine/kernel/thread_turns.h"
#include "engine/run.h"

namespace zs::engine {

class ProcCalls {
 public:
  ProcCalls(Run& run, ThreadTurns& turns, CodeFiles& files, HostKernel& host)
      : run_(run), turns_(turns), files_(files), host_(host) {}

  /// Of a path below /proc that shows something else than the program; nullopt: it does not.
  std::optional<long> call_on_path(long number, const long (&a)[6]);
  /// close_range, of all but the tool's descriptors. nullopt: they are not among them.
  std::optional<long> close_others(const long (&a)[6]);
  /// Leaves the tool's descriptors out of a listing of /proc/self/fd.
  long list_folder(const long (&a)[6]);

 private:
  Run& run_;
  ThreadTurns& turns_;
  CodeFiles& files_;
  HostKernel& host_;
};

}  // namespace zs::engine
