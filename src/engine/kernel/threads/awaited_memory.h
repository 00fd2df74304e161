// Memory that is not there until another thread of the program puts it there (userfaultfd). Who touches it sleeps in
// the kernel, in the middle of translated code and with the lock, which the other thread needs. Those who wait for the
// lock see that, and a signal brings the sleeper to the dispatcher, in front of its instruction
// (EngineLock::look_for_waits_of_memory). There it touches what the instruction is about to use once more, without the
// lock, and when that is there the instruction runs. So the fault is reported and answered as natively.
//
// Not done: elements of gathers and scatters but by the same sleep again; frames of signals on such memory, and what
// the engine reads behind pointers in such memory, wait with the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/account/accountant.h"
#include "engine/call.h"
#include "engine/kernel/threads/thread_turns.h"
#include "engine/memory/layout.h"
#include "engine/run.h"

namespace zs::engine {

class AwaitedMemory {
 public:
  AwaitedMemory(Run& run, Accountant& accountant, ThreadTurns& turns)
      : run_(run), accountant_(accountant), turns_(turns) {}

  /// An ioctl of the program has ended; it may have registered memory.
  void note_ioctl(const CallArguments& made, long result);
  bool any() const { return !awaited_.empty(); }
  bool contains(std::uint64_t address) const;
  /// Of the instruction that the running thread is in front of.
  void wait_for_operands();
  /// Where the arguments of a call point, which the engine may read itself.
  void wait_for_arguments(const CallArguments& made);
  /// A call with kReadsFaults of a descriptor that reports such faults has found none: `result`. Who was interrupted at
  /// one, of which another thread has heard by poll, is about to cause it again, and the read is made again then.
  /// Without the lock.
  long read_again(const CallArguments& made, long result) const;
  /// Back here when it is there, when a signal waits, or when touching it is a fault, which the instruction will have
  /// then.
  void touch_without_lock(AddressRange range, bool write);

 private:
  Run& run_;
  Accountant& accountant_;
  ThreadTurns& turns_;
  std::vector<AddressRange> awaited_;  // registered with a userfaultfd
  std::vector<long> descriptors_;      // of these
  std::atomic<int> touching_{0};       // threads, without the lock
};

}  // namespace zs::engine
