// The code of paths: what BlockSimulator::replay_simple() and CoreClock do for any path, written out for one in which
// all accesses hit and no store is met. Each block's map is a few vector instructions then, without a look at which
// registers it reads.
#pragma once

#include "uarch/replay/replay_code_writer.h"
#include "uarch/replay/timed_routines.h"

namespace zs::uarch {

class TimedCodeWriter final : public ReplayCodeWriter {
 public:
  /// plan  of the blocks
  TimedCodeWriter(const PathPlaces& places, const TimedRoutines& routines, const TimingParameters& core,
                  std::uint8_t* at, std::span<const SimpleBlock> blocks, const Plan& plan,
                  std::span<const arch::AddressTerm> terms, bool inlined)
      : ReplayCodeWriter(places, at, blocks, terms, inlined),
        routines_(routines),
        core_(core),
        units_of_slot_(kUnitsPerCycle / core.issue_width),
        plan_(plan) {}

  /// Whether this machine executes such code.
  static bool is_supported();
  /// Whether all of a block's lanes have their place.
  static bool can_write(const BlockTiming& timing) { return timing.result_lanes() <= 4 * kMostVectors; }
  /// What a block's end takes at most.
  static std::size_t bytes_of(const BlockTiming& timing);

 private:
  static constexpr std::size_t kMostVectors = 13;
  static constexpr std::size_t kNoStore = ~std::size_t{0};

  void write_block(const SimpleBlock& block, const SimpleBlock* before) override;
  void write_begin() override;
  void write_end() override;
  void write_aside() override;
  void write_access(const Step& step, AccessDescriptor descriptor, std::size_t number, const BlockTiming& timing);
  void write_start(BlockTiming::Latency later);
  void join_register(std::uint8_t name, BlockTiming::Latency later);
  void write_ready(const BlockTiming& timing, std::size_t store);
  void write_older(const BlockTiming& timing, std::size_t store);
  void write_conditional(const SimpleBlock& block) override;
  void write_passing(const BlockTiming& timing);
  void write_results(const BlockTiming& timing);
  void write_bound(const BlockTiming& timing);
  void write_time(const BlockTiming& timing, const BlockBound& bound);
  void charge(SlotCause cause, std::uint32_t units);

  /// A block that something else delivers than what is expected; written behind everything else.
  struct Elsewhere {
    std::uint8_t* from;        // behind the jump to it
    const std::uint8_t* back;  // null: not known yet
    const BlockTiming* timing;
    const BlockBound* bound;
    bool fills;  // the uop cache
  };

  const TimedRoutines& routines_;
  const TimingParameters& core_;
  std::uint32_t units_of_slot_;
  const Plan& plan_;
  std::vector<Elsewhere> elsewhere_;
  std::size_t known_older_ = kNoStore;  // of the block, whose `older` is in the state
};

}  // namespace zs::uarch
