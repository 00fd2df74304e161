// ptrace between processes that share the engine's memory (CLONE_VM): how leak checkers stop the threads of their
// program and look at their registers (LeakSanitizer, and AddressSanitizer with it). The kernel would stop a thread
// wherever it is in the engine, with the lock perhaps, and show the engine's registers. Here a traced thread does not
// get its turn, and what is shown are the program's registers.
//
// Answered: attach, seize and interrupt, detach, continue, kill, the register sets that can be read, memory, options,
// and the waits for what was stopped. Everything else is told once and answered EIO. Not modelled: signals and system
// calls as stops of their own; a wait for more than what has stopped already.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/run/guest_memory.h"

namespace zs::engine {

class SharedTracing {
 public:
  SharedTracing(GuestMemory& memory, ThreadSet& threads) : memory_(memory), threads_(threads) {}

  /// ptrace(2) with its own arguments; nullopt: not of a thread in this memory, the kernel's business.
  std::optional<long> ptrace(const long (&a)[6]);
  /// wait4 or waitid; nullopt: not for what is traced here.
  std::optional<long> wait(long number, const long (&a)[6]);
  /// `tracer` ends: what it has stopped goes on.
  void tracer_ends(std::int32_t tracer);

 private:
  Thread* find(std::int32_t tid) const;
  bool shares_memory(std::int32_t tid) const;
  long attach(Thread& thread, std::uint32_t status);
  long let_go(Thread& thread);
  long of_stopped(Thread& thread, const long (&a)[6]);
  long read_set(const Thread& thread, std::uint64_t type, std::uint64_t iovec_at);
  long put(std::uint64_t address, const void* data, std::size_t size);

  GuestMemory& memory_;
  ThreadSet& threads_;
  bool told_ = false;
};

}  // namespace zs::engine
