// What the program takes for its kernel: signals, threads, processes, system calls, as far as the real one cannot do
// it. Handlers of system calls (call_handlers.h) get this.
#pragma once

#include "engine/kernel/calls/system_calls.h"
#include "engine/kernel/emulation.h"
#include "engine/kernel/exec.h"
#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/native_rest.h"
#include "engine/kernel/threads.h"

namespace zs::engine {

struct GuestKernel : KernelParts {
  GuestKernel(Run& running, Accountant& accounting, Resumes& dispatcher)
      : KernelParts(running, accounting), threads(*this, dispatcher) {}

  Threads threads;
  Exec exec{*this, threads};
  NativeRest native_rest{*this};
  SystemCalls calls{*this};
  Emulation emulation{*this, threads};
  bool told_of_perf_events = false;
};

}  // namespace zs::engine
