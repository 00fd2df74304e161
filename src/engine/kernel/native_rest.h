// A process that another program traces (ptrace) shows it native registers, stops and system calls: from its
// PTRACE_TRACEME on, or from PTRACE_ATTACH or PTRACE_SEIZE of a tracer under this zeroskid, it runs natively. It is the
// same process, whose memory is where the program has it; what it does from there on is not counted.
// Not done: processes with several threads, or in the memory of another one (vfork): who wants to trace those is
// refused.
// A tracer that is not under zeroskid sees translated code.
#pragma once

#include <cstdint>

#include "engine/thread.h"

namespace zs::engine {

struct GuestKernel;

/// Whether another program traces this process.
bool is_traced();

class NativeRest {
 public:
  explicit NativeRest(GuestKernel& kernel) : kernel_(kernel) {}

  /// Wherever the program stands between two instructions. Comes back if nobody has asked for it, if it cannot be, or
  /// if a signal has to be delivered first.
  void begin_if_asked();
  /// The running thread has asked its parent to trace it, or somebody traces it since it was stopped.
  void want();
  /// Asks the process of `tid`, if that is translated. returns whether it can be traced now
  bool ask(std::int32_t tid);

 private:
  bool is_translated(std::int32_t tid) const;

  GuestKernel& kernel_;
};

}  // namespace zs::engine
