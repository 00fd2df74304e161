// System calls of the program. Nearly all pass to the kernel as they are; a row's handler (call_table.h) is of those
// that the engine must answer or change: memory (guest_map.h), signals, threads and processes, its own view of /proc,
// its descriptors, and what would break the engine.
#pragma once

#include <cstdint>

#include "engine/call.h"
#include "engine/kernel/calls/hidden_descriptors.h"
#include "engine/kernel/calls/hidden_memory.h"
#include "engine/translate/block.h"

namespace zs::engine {

struct GuestKernel;

class SystemCalls {
 public:
  explicit SystemCalls(GuestKernel& kernel);

  /// Translated code has left at a SYSCALL instruction, or INT 80h.
  void handle(const Exit& exit);
  /// Programs linked before 2011 call three addresses that the kernel keeps for them and answers itself, without an
  /// instruction of the program's. Not where the kernel has none. returns whether `pc` was one
  bool call_vsyscall(std::uint64_t pc);
  /// From outside: in virtual time, if the run is.
  Outcome call(const CallArguments& made);
  /// Of a call that names none of the tool's memory, in ids of the kernel's.
  Outcome answer(const CallArguments& made);

 private:
  /// Of the INT 80h at `pc`: with a number of number_behind_interrupt().
  Outcome call_by_interrupt(const CallArguments& made, std::uint64_t pc);
  /// Of a call that names none of the tool's descriptors either.
  Outcome answer_shown(const CallArguments& made);

  GuestKernel& kernel_;
  HiddenMemory hidden_memory_;
  HiddenDescriptors hidden_;
};

}  // namespace zs::engine
