// What the code of paths works on, and what it asks.
#pragma once

#include <array>
#include <cstdint>

#include "arch/core_feed.h"
#include "uarch/branch/branch_unit.h"
#include "uarch/cache/way_hints.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/code_book.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {

/// It keeps the first few in registers; whoever it asks finds them here.
struct ReplayState {
  const arch::PathRun* run = nullptr;
  const arch::PathRun* runs_end = nullptr;
  /// Does what the code does not. what: a Callout. Returns whether the whole block is over.
  std::uint64_t (*ask)(ReplayState& state, std::uint32_t what) = nullptr;
  void* simulator = nullptr;  // of whoever is asked
  // arch::SlotValues of the runs
  const std::uint64_t* values = nullptr;
  std::uint64_t fs = 0, gs = 0;
  std::uint64_t linear = 0;  // of the access that is asked about
  // Filter::hits_tags(), Filter::touch_code(), and BranchTargetBuffer::touch().
  bool (*hits)(MemorySystem::InlineCounts& filter, std::uint64_t linear, std::uint32_t bytes, unsigned store) = nullptr;
  bool (*fetches)(MemorySystem::InlineCounts& filter, std::uint64_t line) = nullptr;
  bool (*touches)(BranchTargetBuffer& targets, std::uint64_t pc) = nullptr;
  const std::uint8_t* const* code = nullptr;  // by path
  // The structures of the core.
  MemorySystem::InlineCounts* counts = nullptr;
  const WayHint* way_hints = nullptr;
  const WayHint* hot_code = nullptr;
  std::uint64_t* code_stamps = nullptr;  // as QuickPages::Inline has them
  std::array<QuickPages::Inline, 2> tlbs{};
  BranchTargetBuffer* targets = nullptr;
  std::uint32_t* branch_tags = nullptr;
  ReturnStack::Inline* returns = nullptr;
  /// CoreClock::wait_for_room().
  void (*wait_for_room)(ReplayState& state) = nullptr;
  CoreClock::Inline* clock = nullptr;
  const StoreBuffer::Inline* stores = nullptr;
  std::uint64_t uops = 0, fused = 0;  // of the paths that were replayed
  std::uint64_t untagged = 0;         // loads of which none is tagged; a path with more of them ends the replay
  std::uint64_t waited = 0;  // cycles for which the store that is asked about has waited; 0: it was not done yet
  /// MemorySystem::early_load().
  bool (*loads)(ReplayState& state, std::uint64_t linear, std::uint32_t bytes) = nullptr;
  /// MemorySystem::pass_plain_store(). what: a PlainStore. Returns what it waited for an entry.
  std::uint64_t (*pass_store)(ReplayState& state, std::uint64_t linear, std::uint64_t what) = nullptr;
  // When its data is and what is older in its block, behind CoreClock::Inline::base, if nothing has happened there.
  BlockTiming::Latency ready = 0, older = 0;
  /// BranchUnit::predict_path() and follow(). what: the footprint, and bit 16: taken. Returns whether it is
  /// mispredicted.
  bool (*predicts)(BranchUnit& branches, std::uint32_t hash, std::uint32_t what) = nullptr;
  void (*follow)(BranchUnit& branches, std::uint32_t footprint) = nullptr;
  BranchUnit* branches = nullptr;
};

/// What is known of a store in code, in 64 bits.
struct PlainStore {
  std::uint8_t bytes;
  std::uint8_t number;   // as Step::store has it
  std::uint16_t place;   // likewise
  std::uint32_t offset;  // when it is dispatched, in units from the block's start

  constexpr std::uint64_t word() const {
    return std::uint64_t{offset} << 32 | std::uint64_t{place} << 16 | std::uint64_t{number} << 8 | bytes;
  }
  static constexpr PlainStore of(std::uint64_t word) {
    return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint16_t>(word >> 16), static_cast<std::uint32_t>(word >> 32)};
  }
};

/// What the code asks, in 32 bits.
struct Callout {
  enum Kind : std::uint8_t {
    Step,     // `done` of the block's steps are done, and the next is not as usual
    Branch,   // a branch that the code does not predict
    Wrong,    // it did, and wrong; and has done nothing else for a taken one
    Resteer,  // right, but the BTB did not know the branch
    End       // all of the block is done but for what the clock does at its end, and something has happened in it
  };
  Kind kind;
  std::uint8_t block;  // of the path
  std::uint8_t done;

  constexpr std::uint32_t word() const { return std::uint32_t{kind} << 16 | std::uint32_t{block} << 8 | done; }
  static constexpr Callout of(std::uint32_t word) {
    return {static_cast<Kind>(word >> 16), static_cast<std::uint8_t>(word >> 8), static_cast<std::uint8_t>(word)};
  }
};

/// What pass() of a block adds to the fetches, behind the block before it on its path; without one, the first line is
/// left out, as the path before may have fetched it.
constexpr std::uint64_t fetches_of(const SimpleBlock& block, const SimpleBlock* before) {
  const bool same = before == nullptr || before->first_line + before->lines - 1 == block.first_line;
  return block.lines - (same ? 1U : 0U);
}

}  // namespace zs::uarch
