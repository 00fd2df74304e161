// Where every signal arrives. Runs on the thread's signal block with everything asynchronous blocked. No libc and no
// thread-local storage: it may have interrupted anything.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "engine/kernel/code/code_entry.h"
#include "engine/run.h"

namespace zs::engine {

/// Of the SIGTRAP by which a process asks another one to run natively (native_rest.h); nobody else sends it. Negative,
/// as the kernel wants it of a process that is not its receiver.
inline constexpr int kAsksToRunNatively = -0x5A53;

void signal_entry(int signal, siginfo_t* info, void* ucontext);

class SignalEntry {
 public:
  /// There is one at a time.
  SignalEntry(Run& run, CodeEntry& entry) : run_(run), entry_(entry) { instance = this; }

 private:
  friend void signal_entry(int signal, siginfo_t* info, void* ucontext);
  static SignalEntry* instance;

  void on_signal(int signal, siginfo_t& info, ucontext_t& context);
  bool is_for_tracer(Thread& thread, ucontext_t& context);
  bool is_engines_own(Thread& thread, int signal, const siginfo_t& info, greg_t* regs);
  bool is_lookup(const Thread& thread, int signal, const siginfo_t& info, greg_t* regs);
  bool is_glue(std::uint64_t pc) const;
  bool is_lookup_at(const siginfo_t& info, const greg_t* regs) const;
  void leave_code_for(std::uint64_t stub, greg_t* regs);
  void take_fault(Thread& thread, const siginfo_t& info, greg_t* regs, bool waits_for_memory);
  bool take_asynchronous(Thread& thread, int signal, const siginfo_t& info, ucontext_t& context);
  bool in_code(const Thread& thread, std::uint64_t pc) const;

  Run& run_;
  CodeEntry& entry_;
};

}  // namespace zs::engine
