// The clock of one modelled core. Blocks run through it in program order, each with the events that the caches, the
// TLBs and the branch unit saw in it; the clock says when each load was dispatched, how long everything took, and what
// every issue slot of that time was lost to.
//
// An interval model: the front end delivers a block in its bound, registers become ready by the block's map (max-plus),
// and what is late holds nothing up until the reorder buffer is full, the store buffer is, or a mispredicted branch
// waits for it.
//
//   clock.begin(block);
//   at = clock.load_dispatch(k);  clock.load_done(k, latency, level);     only for loads that are not plain L1D hits,
//   clock.mispredict(j); ...                                             and all events in program order
//   clock.end();
//
// A block need not be known to its end when it begins: begin() with what is known of it, continue_with() each time that
// more is.
// Nothing that happens before an instruction depends on what follows it, so the result is that of the whole block.
//
// Time is in units (block_timing.h). Within a block a late time names in its lowest bits what made it late, and because
// times are joined by maximum and grow by multiples of the mask, the cause comes along without a look. Registers keep
// no cause: when a younger block is the oldest in flight, a load of an older one has long retired, and what is left to
// wait for is a dependence.
// What waits for the oldest in flight, for a branch or for room in the store buffer, waits for the deepest level at
// which a load is outstanding then, as processors count it: stalls while there is a miss of L3, of L2, of L1D, and
// top-down takes the differences; a full store buffer counts where no load is outstanding.
// source: Optimization manual, "Top-Down Analysis Method"; perfmon, CYCLE_ACTIVITY.STALLS_L1D_MISS and its kin,
// EXE_ACTIVITY.BOUND_ON_STORES.
// Ports lag behind dispatch by as much as the scheduler holds; all blocks are taken to lag on the same port.
// Left out: uops that fill the scheduler while they wait for operands; the load buffer. Fill buffers and the store
// buffer are the memory system's: a load's latency has the wait for one in it, and a store tells how long it waited.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "uarch/timing/block_lanes.h"
#include "uarch/timing/block_timing.h"
#include "uarch/timing/outstanding_loads.h"
#include "uarch/timing/slot_cause.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

class CoreClock {
 public:
  using Inline = InlineClock;
  static constexpr std::size_t kRing = Inline::kRing;

  /// What happened in a block.
  struct Event {
    std::uint32_t at;    // load, or instruction
    std::uint32_t time;  // cycles from dispatch, or units of delay
    SlotCause cause;
    bool is_load;
  };

  explicit CoreClock(const TimingParameters& core);
  CoreClock(const CoreClock&) = delete;
  CoreClock& operator=(const CoreClock&) = delete;

  /// The block begins; it must live until end().
  void begin(const BlockTiming& block) {
    wait_for_room();
    begin_here(block);
  }
  /// What holds up whatever block is next.
  void wait_for_room() {
    CHECK(own_.block == nullptr);
    if (own_.slots + 1 >= own_.full_at) leave();
    // Ports may be behind by as much as the scheduler holds.
    if (own_.executed > own_.now + own_.executed_behind)
      wait_until(own_.executed - own_.executed_behind, own_.executed_cause);
    if (own_.now - own_.base > kRebaseAfter) rebase();
  }
  /// begin() behind wait_for_room().
  void begin_here(const BlockTiming& block) {
    CHECK(own_.block == nullptr);
    own_.block = &block;
    bound_ = nullptr;
    shift_ = 0;
    lanes_.forget();
    loads_again_ = 0;
    events_.clear();
  }
  /// The block under way has not begun if nothing has happened in it that its time depends on.
  void undo_uneventful() {
    if (events_.empty()) own_.block = nullptr;
  }
  static constexpr std::uint64_t kRebaseAfter = 1U << 28;  // units

  /// For code that passes blocks inline, when none is under way.
  Inline& inline_part() { return own_; }
  /// Blocks with ids up to this one may be looked up in Inline::filled_at.
  void know_id(std::uint32_t id);
  /// Whether what it knows of the block of this id, which is not under way, may still matter.
  bool remembers(std::uint32_t id) const { return id == own_.last_block || in_uop_cache(id); }
  /// The block under way goes on: `longer` begins with all of its instructions.
  void continue_with(const BlockTiming& longer);
  bool under_way() const { return own_.block != nullptr; }
  /// What has happened in the block under way, loads and delays each in program order.
  std::span<const Event> events() const { return events_; }

  /// Cycle in which the block was dispatched, or the next one will be at the earliest: none of its instructions, and of
  /// later ones, is before that.
  std::uint64_t start_cycle() const { return own_.now / kUnitsPerCycle; }
  /// The cycle behind that in which everything older than the block is complete, and behind that time too, which counts
  /// from Inline::base.
  std::uint64_t retired_cycle(BlockTiming::Latency at = BlockTiming::kNever) const {
    const std::int64_t in_block = static_cast<std::int64_t>(own_.base) + at;
    return static_cast<std::uint64_t>(std::max(static_cast<std::int64_t>(own_.retired), in_block)) / kUnitsPerCycle + 1;
  }
  /// Cycle in which an instruction of the block is dispatched.
  std::uint64_t dispatch_cycle(std::size_t instruction) const { return cycle_behind(own_.block->offset(instruction)); }
  /// Of one that is dispatched so many units behind the block's start, also if that has not begun yet.
  std::uint64_t cycle_behind(std::uint32_t offset) const { return (own_.now + shift_ + offset) / kUnitsPerCycle; }
  /// Cycle in which a load of the block is dispatched: its address is known.
  std::uint64_t load_dispatch(std::size_t load) {
    lanes_.join_events(own_);
    return cycle_of(lanes_[own_.block->load_lane(load)]);
  }
  /// Of a time that counts from Inline::base.
  std::uint64_t cycle_of(BlockTiming::Latency at) const {
    return (own_.base + static_cast<std::uint64_t>(at)) / kUnitsPerCycle;
  }
  /// Cycle in which the data of a store of the block is known; of the instruction of that number among those that
  /// store.
  std::uint64_t store_ready(std::size_t store) const {
    return cycle_of(lanes_.event(own_, own_.block->store_lane(store)));
  }
  /// Cycle in which that instruction retires at the earliest: behind everything older.
  std::uint64_t store_retires(std::size_t store) const {
    return retired_cycle(lanes_.event(own_, own_.block->older_lane(store)));
  }
  /// Its data came from `level` (L1 to Dram) so many cycles after that.
  void load_done(std::size_t load, std::uint32_t latency_cycles, SlotCause level);
  /// A load of the block takes a load port so many times more (Outcome::begun_again()).
  void load_again(std::uint32_t times) { loads_again_ += times; }
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
  void end() {
    const BlockTiming& block = *own_.block;
    const BlockBound& bound = this->bound();
    lanes_.join_results(own_);
    own_.retired = std::max(own_.retired, own_.base + static_cast<std::uint64_t>(lanes_[0]));
    const auto written = block.written();
    for (std::size_t i = 0; i < written.size(); ++i)
      own_.ready[written[i]] = lanes_[1 + i] & ~static_cast<Latency>(kCauseBits);

    // The ports get their work.
    const BlockBound& work = block.executed();
    std::uint32_t work_units = work.units;
    SlotCause work_cause = work.cause;
    if (loads_again_ != 0) [[unlikely]] {
      const std::uint32_t of_loads = load_units(core_, block.load_uops() + loads_again_);
      if (of_loads > work_units) work_cause = SlotCause::L1;
      work_units = std::max(work_units, of_loads);
    }
    own_.executed = std::max(own_.executed, own_.now) + work_units;
    if (work_units > bound.units) {
      own_.executed_behind = block.scheduler_units();
      own_.executed_cause = work_cause;
    }

    const std::uint32_t issue = block.slots() * units_of_slot_;
    if (block.microcode_slots() != 0) {
      const std::uint32_t microcode = block.microcode_slots() * units_of_slot_;
      own_.account->add(SlotCause::RetiredMicrocode, microcode);
      own_.account->add(SlotCause::Retired, issue - microcode);
    } else {
      own_.account->add(SlotCause::Retired, issue);
    }
    own_.account->add(bound.cause, bound.units - issue);
    own_.now += bound.units + shift_ + std::exchange(occupied_, 0);
    if (detail::time_of(own_.retired) > own_.now) {
      CHECK(own_.newest - own_.oldest < kRing);
      own_.in_flight[own_.newest++ % kRing] = {own_.slots + 1, own_.retired};
    }
    own_.slots += block.slots();
    own_.block = nullptr;
    shift_ = 0;
  }

  /// Nothing runs before this cycle. Nobody is charged for the time. Between blocks only.
  void idle_until(std::uint64_t cycle) {
    CHECK(own_.block == nullptr);
    own_.now = std::max(own_.now, cycle * kUnitsPerCycle);
  }

  /// Another thread takes the core over: nothing that it needs is late, and what passes counts in `account`.
  void switch_to(SlotAccount& account);

  std::uint64_t units() const { return own_.now; }
  /// Sums to units() if nobody else's time was counted.
  const SlotAccount& account() const { return *own_.account; }

 private:
  using Latency = BlockTiming::Latency;

  void wait_until(std::uint64_t time, SlotCause cause);
  void leave();
  void fill_uop_cache(std::uint32_t id);
  bool in_uop_cache(std::uint32_t id) const {
    return id < filled_at_.size() && own_.filled - filled_at_[id] < core_.uop_cache_slots;
  }

  /// What delivers the block.
  const BlockBound& bound() {
    if (bound_ != nullptr) return *bound_;
    const std::uint32_t id = own_.block->id();
    const bool again = id == own_.last_block;
    own_.last_block = id;
    if (again) {
      bound_ = &own_.block->looped();
    } else if (core_.uop_cache_width == 0) {
      bound_ = &own_.block->decoded();
    } else if (in_uop_cache(id)) {
      bound_ = &own_.block->cached();
    } else {
      fill_uop_cache(id);
      bound_ = &own_.block->decoded();
    }
    return *bound_;
  }

  void delay_from(std::size_t instruction, std::uint32_t units, SlotCause cause);
  void delay_lanes(std::size_t instruction, std::uint32_t units);
  std::uint64_t next_dispatch(std::size_t after);
  void rebase();

  TimingParameters core_;
  std::uint32_t units_of_slot_;
  Inline own_;
  SlotAccount own_account_;
  BlockLanes lanes_;

  // Of the block between begin() and end().
  const BlockBound* bound_ = nullptr;  // null: nobody has asked yet
  std::uint32_t shift_ = 0;            // its stalls so far
  std::uint64_t occupied_ = 0;         // units behind it, as occupy() has them
  std::uint32_t loads_again_ = 0;
  std::vector<Event> events_;  // for continue_with(), too

  OutstandingLoads outstanding_;
  std::vector<std::uint64_t> filled_at_;
};

}  // namespace zs::uarch
