// Exact profile: how often each exit was left by, and from that how often each instruction retired and each branch was
// taken (VirtualCpu::counts_paths). The trace names the exits; their paths are gone again when the sums are told
// (Observer::ran), which is when a thread ends, before code changes, and now and then in a long run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/account/pair_counts.h"
#include "engine/account/records.h"
#include "engine/run.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class ExitCounts final : public CodeHistory {
 public:
  explicit ExitCounts(Run& run) : run_(run) {}
  ~ExitCounts() override = default;

  /// Of the running thread, as the trace has them.
  void add(const Records& records);
  /// The first `instructions` of a block, which was left behind them by a fault.
  void add_into(std::uint32_t block, unsigned instructions);
  /// An instruction that ran alone.
  void add_step(const arch::Retired& retired);

  /// The running thread makes a system call, in which it may be killed.
  void call_begins() { tell_now_and_then(std::uint64_t{1} << 10); }
  /// The thread ends: what it did is told.
  void end(const Thread& thread);
  /// In a new process: what there is was the parent's, which tells it.
  void forget() { threads_.clear(); }

  void made(std::uint32_t block) override;
  void code_changes(std::uint64_t start, std::uint64_t end) override;
  void block_dies(std::uint32_t block) override;
  void all_blocks_die() override;

 private:
  /// Of one thread.
  struct OfThread {
    std::vector<std::uint64_t> times;  // by exit; with kIndirect
    PairCounts led;                    // from an exit that is indirect to the exit that was left by next
    /// Instructions (to 0) and branches by their addresses, where no whole path ran.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> alone;
    std::uint64_t records = 0, told_at = 0;  // so many had come when all was told for the last time
  };
  /// An instruction of a path.
  struct Step {
    std::uint64_t pc = 0, target = 0;                  // of a branch that is counted
    arch::BranchKind branch = arch::BranchKind::None;  // which is not Far: that comes back behind it
    bool taken = false;                                // on the path
  };
  static constexpr std::uint64_t kIndirect = std::uint64_t{1} << 63;  // the exit's target is in `led`

  OfThread& running();
  /// visit(thread, its counts), in the order in which the threads began.
  template <typename Visit>
  void for_each_thread(Visit visit) {
    for (const auto& thread : run_.threads) {
      if (const auto at = threads_.find(thread.get()); at != threads_.end()) visit(*thread, at->second);
    }
  }
  void tell_now_and_then(std::uint64_t fewest);
  std::uint64_t last_pc(std::uint32_t exit) const;
  void tell_all(const Thread& who, OfThread& thread);
  void tell_block(const Thread& who, OfThread& thread, std::uint32_t block);
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
};

}  // namespace zs::engine
