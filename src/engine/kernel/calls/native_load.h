// Config::native_load: the program runs untranslated on the image that a translated run sees, so that a ptrace oracle
// can step both. What must be equal is answered here as the translated run answers it: memory calls, /proc, the virtual
// clock. System calls arrive by Syscall User Dispatch (SIGSYS), RDTSC and CPUID by their faults (SIGSEGV).
// Not offered: threads, children that are followed.
// source: Linux, Documentation/admin-guide/syscall-user-dispatch.rst.
#pragma once

#include <ucontext.h>

#include "engine/kernel/guest_kernel.h"

namespace zs::engine {

void native_signal_entry(int signal, siginfo_t* info, void* ucontext);

class NativeLoad {
 public:
  /// There is one at a time.
  explicit NativeLoad(GuestKernel& kernel) : kernel_(kernel) { instance = this; }

  [[noreturn]] void run();

 private:
  friend void native_signal_entry(int signal, siginfo_t* info, void* ucontext);
  static NativeLoad* instance;

  void on_signal(int signal, siginfo_t* info, ucontext_t* uc);
  void on_call(long number, greg_t* regs, ucontext_t* uc);
  void on_fault(int signal, greg_t* regs);

  GuestKernel& kernel_;
};

}  // namespace zs::engine
