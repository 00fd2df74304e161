// The clock of one modelled core. Blocks run through it in program order, each with the events that the caches, the TLBs and
// the branch unit saw in it; the clock says when each load was dispatched, how long everything took, and what every issue
// slot of that time was lost to.
//
// An interval model: the front end delivers a block in its bound, registers become ready by the block's map (max-plus), and
// what is late holds nothing up until the reorder buffer is full, the store buffer is, or a mispredicted branch waits for it.
//
//   clock.begin(block);
//   at = clock.load_dispatch(k);  clock.load_done(k, latency, level);     only for loads that are not plain L1D hits,
//   clock.mispredict(j); ...                                             and all events in program order
//   clock.end();
//
// A block need not be known to its end when it begins: begin() with what is known of it, continue_with() each time that more is.
// Nothing that happens before an instruction depends on what follows it, so the result is that of the whole block.
//
// Time is in units (block_timing.h). A late time names in its lowest bits what made it late, and because times are joined by
// maximum and grow by multiples of the mask, the cause comes along without a look.
// Ports lag behind dispatch by as much as the scheduler holds; all blocks are taken to lag on the same port.
// Left out: uops that fill the scheduler while they wait for operands; the load buffer. Fill buffers and the store buffer are
// the memory system's: a load's latency has the wait for one in it, and a store tells how long it waited.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "uarch/timing/block_timing.h"
#include "uarch/timing/slot_cause.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

class CoreClock {
 public:
  explicit CoreClock(const TimingParameters& core);

  /// A block that runs without an event.
  void run(const BlockTiming& block) {
    begin(block);
    end();
  }

  /// The block begins; it must live until end().
  void begin(const BlockTiming& block);
  /// The block under way goes on: `longer` begins with all of its instructions.
  void continue_with(const BlockTiming& longer);
  bool under_way() const { return block_ != nullptr; }

  /// Cycle in which the block was dispatched: none of its instructions, and of later ones, is before that.
  std::uint64_t start_cycle() const { return now_ / kUnitsPerCycle; }
  /// Cycle in which everything older than the block is complete.
  std::uint64_t retired_cycle() const { return (retired_ + kUnitsPerCycle - 1) / kUnitsPerCycle; }
  /// Cycle in which an instruction of the block is dispatched.
  std::uint64_t dispatch_cycle(std::size_t instruction) const {
    return (now_ + shift_ + block_->offset(instruction)) / kUnitsPerCycle;
  }
  /// Cycle in which a load of the block is dispatched: its address is known.
  std::uint64_t load_dispatch(std::size_t load);
  /// Its data came from `level` (L1 to Dram) so many cycles after that.
  void load_done(std::size_t load, std::uint32_t latency_cycles, SlotCause level);
  /// The instruction's store waited for an entry of the store buffer.
  void store_stall(std::size_t instruction, std::uint32_t cycles);
  /// The instruction was fetched late, for InstructionCache or InstructionTlb. The queue before issue hides its part.
  void fetch_stall(std::size_t instruction, std::uint32_t cycles, SlotCause cause);

  // What ends a block: nothing of it may follow.
  void mispredict(std::size_t branch);
  /// The decoder found a taken branch that the BTB did not know.
  void resteer(std::size_t branch);
  /// The block's last instruction serialises: what is behind it waits for all before it, and this long.
  void serialise(std::uint32_t cycles);
  /// More time that the block takes whatever is ready: a REP string instruction's elements.
  void occupy(std::uint32_t cycles, SlotCause cause);
  void end();

  /// Another thread takes the core over: nothing that it needs is late, and what passes counts in `account`.
  void switch_to(SlotAccount& account);

  std::uint64_t cycles() const { return now_ / kUnitsPerCycle; }
  std::uint64_t units() const { return now_; }
  /// Cycle in which all that was dispatched is complete.
  std::uint64_t drained_cycles() const;
  /// Sums to units() if nobody else's time was counted.
  const SlotAccount& account() const { return *account_; }
  /// Unit in which a register's last value is ready, its cause in the lowest bits; older than units() once it is no longer late.
  std::uint64_t ready(unsigned number) const;

 private:
  using Latency = BlockTiming::Latency;

  /// What happened in the block under way, for continue_with().
  struct Event {
    std::uint32_t at;    // load, or instruction
    std::uint32_t time;  // cycles from dispatch, or units of delay
    SlotCause cause;
    bool is_load;
  };

  void wait_until(std::uint64_t time, SlotCause cause);
  void wait_for_reorder_buffer();
  void wait_for_scheduler();
  void execute(std::uint64_t start);
  const BlockBound& delivered();
  template <typename RowOf>
  void join_rows(Latency* lane, std::size_t count, const RowOf& row_of);
  void join_results();
  void join_events();
  void join_load(const Event& event);
  const BlockBound& bound();
  void delay_from(std::size_t instruction, std::uint32_t units, SlotCause cause);
  void delay_lanes(std::size_t instruction, std::uint32_t units);
  std::uint64_t next_dispatch(std::size_t after);
  void rebase();

  static constexpr std::size_t kLanes = 256;
  static constexpr std::size_t kRing = 1024;

  TimingParameters core_;
  std::uint32_t units_of_slot_;

  std::uint64_t now_ = 0;   // dispatch of the next block
  std::uint64_t base_ = 0;  // what ready_ and lane_ count from
  alignas(32) std::array<Latency, 64> ready_{};
  alignas(32) std::array<Latency, kLanes> lane_{};
  SlotAccount own_account_;
  SlotAccount* account_ = &own_account_;

  // The block between begin() and end().
  const BlockTiming* block_ = nullptr;
  const BlockBound* bound_ = nullptr;  // null: nobody has asked yet
  std::uint32_t shift_ = 0;            // its stalls so far
  bool events_joined_ = false;
  std::vector<Event> events_;

  // Blocks whose completion lies behind their dispatch, in order: what the reorder buffer may have to wait for.
  struct InFlight {
    std::uint64_t first_slot;
    std::uint64_t retired;
  };
  std::array<InFlight, kRing> in_flight_{};
  std::size_t oldest_ = 0, newest_ = 0;
  std::uint64_t slots_ = 0;       // dispatched so far
  std::uint64_t retired_ = 0;     // when all of them are
  std::uint64_t room_since_ = 0;  // when those that had to leave the reorder buffer left

  // When the ports have done all they were given, and how far behind dispatch they may be: as the last block says that gave
  // them more than its dispatch took.
  std::uint64_t executed_ = 0;
  std::uint32_t executed_behind_ = 0;
  SlotCause executed_cause_ = SlotCause::Ports;

  // The uop cache as a queue of slots: a block is in it until as many slots as it has room for were filled after the block.
  std::vector<std::uint64_t> filled_at_;  // by block id; 0: never
  std::uint64_t filled_ = 0;
  std::uint32_t last_block_ = UINT32_MAX;
};

}  // namespace zs::uarch
