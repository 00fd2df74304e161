// Occurrences by accumulator, on their way to the PMUs of the running thread; how many fit before an overflow;
// overflows inside a trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/account/records.h"
#include "engine/run.h"

namespace zs::engine {

/// What may run before a counter overflows.
struct Allowance {
  std::uint64_t records = UINT64_MAX;       // TraceForm::Records, Spaced: words of trace
  std::uint64_t instructions = UINT64_MAX;  // instructions that may run unobserved; with a core model, of those that
                                            // can have the event at all (PathStep::risky)
  std::uint64_t plain = UINT64_MAX;         // with a core model: of any, for what each of them counts in
  std::uint64_t budget = UINT64_MAX;        // TraceForm::Budget: events before the pointer must hit the guard
};

class Tally {
 public:
  explicit Tally(Run& run) : run_(run) {}

  /// For run.counting, which has been found.
  void begin();
  Allowance allowance() const;
  /// The same for blocks of Variant::Quiet, in the spaced form: nothing where each instruction may be an overflow.
  Allowance quiet_allowance() const;

  /// The sums that are being made, by accumulator.
  std::span<std::uint64_t> totals() { return totals_; }
  void clear() { std::fill(totals_.begin(), totals_.end(), 0); }
  /// The sums become those of these records, and of one more.
  void sum_records(std::span<const std::uint32_t> ids, std::optional<std::uint32_t> more);
  /// Adds what the modelled accumulators have counted since they were last asked; nothing where the counters hear
  /// nothing of it.
  void add_signals(std::span<std::uint64_t> sums) { add_signals(sums, run_.thread->cpu.core->signals()); }
  /// The same up to where the core's were `now`.
  void add_signals(std::span<std::uint64_t> sums, const arch::CoreSignals& now);
  /// `events` by accumulator are counted; they overflow nothing but what is of the nature of time.
  void count(std::span<const std::uint64_t> events);
  void count() { count(totals_); }
  /// In the budget form, where all that is counted is instructions.
  void count_instructions(std::uint64_t instructions);
  /// In the budget form: the next instruction overflows a counter.
  void count_up_to_overflow();

  /// Notes what fits into each accumulator before it overflows.
  void look_at_room();
  std::span<const std::uint64_t> room() const { return room_; }
  /// One more summand, to be filled.
  std::span<std::uint64_t> more() { return more_; }
  /// The sums and more() together overflow nothing. Then the sums hold both.
  bool adds_up();
  /// Hears of each split before it is made: where the instruction ends that overflows a counter, in that record behind
  /// so many instructions of its path. Of a path alone the record is 0.
  using BeforeSplit = std::function<void(std::size_t record, unsigned instructions)>;
  /// Counts records, and splits where one overflows a counter.
  void count_and_split(std::span<const std::uint32_t> ids, const BeforeSplit& before_split = {});
  /// The same of the first instructions of a block.
  void count_into_and_split(std::uint32_t block, unsigned instructions, const BeforeSplit& before_split = {});
  /// Of a budget trace: which instruction it is does not matter where nothing but instructions is counted.
  void count_and_split_instructions(std::uint64_t instructions);

  void retire(const arch::Retired& retired, const arch::RegisterFile& after);
  void take_pmi(const arch::RegisterFile& after);
  void enter_branch(const arch::TakenBranch& branch);
  /// LBR and BTS: branches of drained records [from, to), oldest first.
  void enter_branches(const Records& records, std::size_t from, std::size_t to);
  /// Of a block that was left behind so many instructions, by a fault.
  void enter_branches_into(const Block& block, unsigned instructions);

 private:
  /// sums  what a path's instructions bring, as SuperblockReplay::sums_to has it
  void add_path(std::span<const std::uint16_t> sums, std::size_t record, const BeforeSplit& before_split);
  void split();
  arch::TakenBranch taken(const PathBranch& branch, std::uint64_t target, std::size_t behind) const;

  Run& run_;
  std::vector<std::uint64_t> totals_, room_, more_;  // by accumulator
  std::vector<std::size_t> near_accumulators_;       // of room_: what may overflow within a trace
};

}  // namespace zs::engine
