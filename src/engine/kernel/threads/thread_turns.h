// Threads of the program in turn: the running one is in the Context, the others wait with their state kept in their
// Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/account/accountant.h"
#include "engine/kernel/code/code_entry.h"
#include "engine/kernel/code/guest_code.h"
#include "engine/kernel/threads/recorded_threads.h"
#include "engine/kernel/threads/thread_stacks.h"
#include "engine/run.h"

namespace zs::engine {

/// All but the vector registers, between threads and the Context.
template <typename To, typename From>
void copy_registers(To& to, const From& from) {
  std::ranges::copy(from.gpr, to.gpr);
  to.flags = from.flags;
  to.fs_base = from.fs_base;
  to.gs_base = from.gs_base;
  to.fs_selector = from.fs_selector;
  to.gs_selector = from.gs_selector;
}

class ThreadTurns {
 public:
  ThreadTurns(Run& run, Accountant& accountant, CodeEntry& entry, GuestCode& code, RecordedThreads& recorded,
              ThreadStacks& stacks)
      : run_(run), accountant_(accountant), entry_(entry), code_(code), recorded_(recorded), stacks_(stacks) {}

  void save(Thread& thread);
  void load(Thread& thread);
  /// Saves the Context, lets others run. From here to come_back() the thread uses its own variables only.
  void give_up();
  /// The same, where nothing runs until another thread of the program says so.
  void give_up_to_wait();
  /// Waits for its turn.
  void come_back(Thread& thread);
  /// Lets others run, and comes back.
  void yield();
  /// The program asks what its threads may run on, or says so.
  void let_go_of_processors();
  /// The latest cycle of the threads that have given their turn away.
  std::uint64_t latest_core_time() const { return latest_core_time_; }

 private:
  void prepare_to_wait();
  void note_core_time();
  void forget_dead_processes();

  Run& run_;
  Accountant& accountant_;
  CodeEntry& entry_;
  GuestCode& code_;
  RecordedThreads& recorded_;
  ThreadStacks& stacks_;
  std::uint64_t latest_core_time_ = 0;
  std::vector<std::unique_ptr<Thread>> dead_;  // killed: who waits for the lock may still look at them
};

}  // namespace zs::engine
