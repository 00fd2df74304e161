// The running engine. One per process. Everything here happens under the engine lock, on the running thread's engine
// stack, unless a comment says otherwise.
#pragma once

#include "base/room_for_descriptors.h"
#include "engine/account/accountant.h"
#include "engine/dispatcher.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/native_load.h"
#include "engine/run.h"

namespace zs::engine {

class Runtime {
 public:
  Runtime(const Config& config, Observer& observer, const ProgramPlan& plan);
  /// Loads the program into this address space and runs it, with the limit on descriptors that was there before
  /// `descriptors`.
  [[noreturn]] void start(ProgramPlan plan, const MemoryLimits& limits, RoomForDescriptors& descriptors);

 private:
  void load(ProgramPlan plan);
  void keep_off_poison();
  void begin_first_thread(const MemoryLimits& limits);
  void begin_context();

  Run run_;
  Accountant accountant_{run_};
  GuestKernel kernel_;
  Dispatcher dispatcher_;
  NativeLoad native_{kernel_};
};

}  // namespace zs::engine
