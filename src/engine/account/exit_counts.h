// Exact profile: how often each exit was left by, and from that how often each instruction retired and each branch was
// taken (VirtualCpu::counts_paths). The trace names the exits; their paths are gone again when the sums are told
// (Observer::ran), which is when a thread ends, before code changes, and now and then in a long run. With
// RunSettings::contexts all that of each calling context, too (Observer::ran_in_context).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/account/call_contexts.h"
#include "engine/account/context_counts.h"
#include "engine/account/pair_counts.h"
#include "engine/account/records.h"
#include "engine/run.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class ExitCounts final : public CodeHistory {
 public:
  explicit ExitCounts(Run& run) : run_(run), contexts_(run.config.contexts) {}
  ~ExitCounts() override = default;

  /// Of the running thread, as the trace has them.
  void add(const Records& records);
  /// The first `instructions` of a block, which was left behind them by a fault.
  void add_into(std::uint32_t block, unsigned instructions);
  /// An instruction that ran alone.
  void add_step(const arch::Retired& retired, const StepInProgress& step);

  /// The running thread goes on in the handler of a signal, which returns to `restorer`. It was interrupted at that
  /// instruction, with that stack pointer.
  void handler_begins(std::uint64_t interrupted_pc, std::uint64_t stack_pointer, std::uint64_t restorer);
  /// It goes on where a handler's frame says; its stack pointer was there.
  void handler_returns(std::uint64_t stack_pointer);

  /// The running thread makes a system call, in which it may be killed.
  void call_begins() { tell_now_and_then(std::uint64_t{1} << 10); }
  /// The thread ends: what it did is told.
  void end(const Thread& thread);
  /// In a new process: what there is was the parent's, which tells it.
  void forget();

  void made(std::uint32_t block) override;
  void code_changes(std::uint64_t start, std::uint64_t end) override;
  void block_dies(std::uint32_t block) override;
  void all_blocks_die() override;

 private:
  struct Counted {
    std::vector<std::uint64_t> times;  // by exit; with kIndirect
    PairCounts led;                    // from an exit that is indirect to the exit that was left by next
    /// Instructions (to 0), with their contexts, and branches, without, by their addresses, where no whole path ran.
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, std::uint64_t> alone;
    ContextCounts in_context;  // with contexts: instead of `times`, until they are told
  };
  /// Of one thread.
  struct OfThread : Counted {
    std::uint64_t records = 0, told_at = 0;  // so many had come when all was told for the last time
    CallStack stack{0};
    bool wanted = true;  // VirtualCpu::paths_wanted
    Counted other;       // what is not wanted, which nobody is told of; or else, meanwhile, what is
    void want(bool now) {
      if (std::exchange(wanted, now) != now) std::swap(static_cast<Counted&>(*this), other);
    }
  };
  /// An instruction of a path.
  struct Step {
    std::uint64_t pc = 0, target = 0;                  // of a branch that is counted
    arch::BranchKind branch = arch::BranchKind::None;  // which is not Far: that comes back behind it
    bool taken = false;                                // on the path
    std::uint64_t calls = 0;                           // of a call that the path follows: where it returns to
    bool returns = false;                              // and of its return
    std::uint64_t goes_on_at = 0;                      // the instruction behind it, if it cannot be another function's
  };
  /// Of a calling context.
  struct InContext {
    std::uint32_t context, block, exit;
    std::uint64_t times;
  };
  struct Stretch {
    std::uint32_t context;
    std::uint64_t pc, end, times, last = pc;
  };
  static constexpr std::uint64_t kIndirect = std::uint64_t{1} << 63;  // the exit's target is in `led`

  OfThread& running();
  /// visit(thread, its counts that are wanted), in the order in which the threads began.
  template <typename Visit>
  void for_each_thread(Visit visit) {
    for (const auto& thread : run_.threads) {
      const auto at = threads_.find(thread.get());
      if (at == threads_.end()) continue;
      at->second.want(true);
      visit(*thread, at->second);
    }
  }
  void add_with_context(OfThread& thread, const Records& records);
  std::size_t slot_of(OfThread& thread, std::uint32_t context, std::uint32_t exit);
  void leave(OfThread& thread, std::size_t slot, std::uint32_t exit, std::uint64_t stack_pointer, std::uint32_t next);
  ContextCounts::New new_slot(std::uint32_t context, std::uint32_t exit);
  void note_exits();
  void tell_now_and_then(std::uint64_t fewest);
  std::uint64_t last_pc(std::uint32_t exit) const;
  void tell_all(const Thread& who, OfThread& thread);
  void sum_contexts(const Thread& who, OfThread& thread);
  void tell_contexts(const Thread& who);
  void tell_block(const Thread& who, OfThread& thread, std::uint32_t block);
  template <typename TellInstruction, typename TellBranch>
  void for_each_in_block(OfThread& thread, std::uint32_t block, TellInstruction tell_instruction,
                         TellBranch tell_branch);
  void tell(const Thread& who, std::uint64_t from, std::uint64_t to, std::uint64_t times);
  void send(const Thread& who);
  std::span<const Step> steps_of(std::uint32_t block, unsigned instructions);

  Run& run_;
  std::map<const Thread*, OfThread> threads_;
  bool lost_branches_ = false;                                 // which has been said
  std::unordered_map<std::uint32_t, std::vector<Step>> kept_;  // of blocks whose code may change unseen
  std::vector<Step> steps_;                                    // scratch
  std::vector<std::uint32_t> indirect_;                        // likewise: where in the records
  std::vector<std::uint64_t> on_;                              // likewise: how often a path ended there
  std::vector<arch::PathCount> told_;                          // of the thread that is being told of
  CallContexts contexts_;
  bool said_not_kept_ = false;
  std::vector<std::uint64_t> begins_, returns_to_;  // by exit: its block's pc; of a call where that returns to
  std::vector<Stretch> in_contexts_;                // as told_
};

}  // namespace zs::engine
