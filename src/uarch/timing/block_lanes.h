// The lanes of the block that is under way in a core's clock: when its results, loads, branches and stores are ready,
// joined from its map's rows (block_timing.h) as soon as somebody asks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "uarch/timing/block_timing.h"
#include "uarch/timing/slot_cause.h"

namespace zs::uarch {

namespace detail {

using Latency = BlockTiming::Latency;

// Several lanes at once, in whatever registers the host has.
using Lanes = Latency __attribute__((vector_size(4 * sizeof(Latency))));
inline constexpr std::size_t kLanesOfVector = 4;
static_assert(BlockTiming::kLanesAtOnce % kLanesOfVector == 0);

inline Lanes load_lanes(const Latency* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

/// lane[i] = max(lane[i], row[i] + since)
inline void join_row(Latency* lane, const Latency* row, Latency since, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanesOfVector) {
    const Lanes old = load_lanes(lane + i);
    const Lanes made = load_lanes(row + i) + since;
    const Lanes later = made > old ? made : old;
    std::memcpy(lane + i, &later, sizeof(later));
  }
}

/// lane[i] = row[i] + since
inline void begin_row(Latency* lane, const Latency* row, Latency since, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanesOfVector) {
    const Lanes made = load_lanes(row + i) + since;
    std::memcpy(lane + i, &made, sizeof(made));
  }
}

constexpr SlotCause cause_of(std::uint64_t late_time) { return static_cast<SlotCause>(late_time & kCauseBits); }
constexpr std::uint64_t time_of(std::uint64_t late_time) { return late_time & ~std::uint64_t{kCauseBits}; }

}  // namespace detail

/// What code works on that passes blocks inline, those to which nothing happens (replay/block_time_writer.cc).
struct InlineClock {
  static constexpr std::size_t kRing = 1024;

  const BlockTiming* block = nullptr;  // that is under way
  std::uint64_t now = 0;               // dispatch of the next block
  std::uint64_t base = 0;              // what `ready` and lanes count from
  alignas(32) std::array<BlockTiming::Latency, 64> ready{};

  // Blocks whose completion lies behind their dispatch, in order: what the reorder buffer may have to wait for.
  struct InFlight {
    std::uint64_t first_slot, retired;
  };
  std::array<InFlight, kRing> in_flight{};
  std::uint64_t oldest = 0, newest = 0;
  std::uint64_t slots = 0;    // dispatched so far
  std::uint64_t retired = 0;  // when all of them are
  std::uint64_t full_at = 0;  // a slot of a lower number has room beside the oldest in flight; it may have at others

  // When the ports have done all they were given, and how far behind dispatch they may be: as the last block says
  // that gave them more than its dispatch took.
  std::uint64_t executed = 0;
  std::uint64_t executed_behind = 0;
  SlotCause executed_cause = SlotCause::Ports;

  // The uop cache as a queue of slots: a block is in it until as many slots as it has room for were filled after the
  // block.
  std::uint32_t last_block = UINT32_MAX;
  std::uint64_t filled = 0;            // plus the slots that it has, so that 0 is long ago
  std::uint64_t* filled_at = nullptr;  // by block id; 0: never

  SlotAccount* account = nullptr;
};

class BlockLanes {
 public:
  using Latency = BlockTiming::Latency;

  /// Another block, or more of the same, is under way: nothing of it is joined.
  void forget() { joined_ = 0; }
  Latency operator[](std::size_t lane) const { return lane_[lane]; }
  bool has_events() const { return (joined_ & kEvents) != 0; }
  /// One behind the results: join_events() of that alone.
  Latency event(const InlineClock& clock, std::size_t lane) const {
    if (has_events()) return lane_[lane];
    const BlockTiming& block = *clock.block;
    lane -= block.result_lanes();
    Latency latest = static_cast<Latency>(clock.now - clock.base) + block.events_of(0)[lane];
    std::size_t row = 0;
    for (const std::uint8_t input : block.live_in()) {
      latest = std::max(latest, clock.ready[input] + block.events_of(++row)[lane]);
    }
    return latest;
  }

  void join_results(const InlineClock& clock) {
    if ((joined_ & kResults) != 0) return;
    joined_ |= kResults;
    join_rows(clock, lane_.data(), clock.block->results_of(0), clock.block->result_lanes());
  }
  void join_events(const InlineClock& clock) {
    if (has_events()) return;
    joined_ |= kEvents;
    const std::size_t first = clock.block->result_lanes();
    join_rows(clock, &lane_[first], clock.block->events_of(0), clock.block->lanes() - first);
  }
  /// The data of a load came so many cycles behind its dispatch.
  void join_load(const InlineClock& clock, std::size_t load, std::uint32_t cycles, SlotCause cause);
  /// Everything from `instruction` on, in a block whose dispatch has been held up by `shift` units so far.
  void delay(const InlineClock& clock, std::size_t instruction, std::uint32_t shift);

 private:
  static constexpr unsigned kResults = 1, kEvents = 2;

  /// `count` lanes from the block's rows, which lie one behind the other. A register that is ready when the block
  /// starts adds nothing to row 0, which waits for dispatch and has every path of the register's row.
  static void join_rows(const InlineClock& clock, Latency* lane, const Latency* rows, std::size_t count) {
    const auto start = static_cast<Latency>(clock.now - clock.base);
    detail::begin_row(lane, rows, start, count);
    for (const std::uint8_t input : clock.block->live_in()) {
      rows += count;
      const Latency since = clock.ready[input];
      if (since > start) detail::join_row(lane, rows, since, count);
    }
  }

  alignas(32) std::array<Latency, BlockTiming::kMostLanes> lane_{};
  unsigned joined_ = 0;  // which of the block's are in lane_
};

}  // namespace zs::uarch
