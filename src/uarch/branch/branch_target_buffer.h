// The branch target buffer: which addresses hold a branch that was taken. The front end follows a taken branch that it
// finds here without a bubble; one that it does not find, the decoder must find (BACLEARS), which is a resteer, not a
// mispredict.
// Targets are not kept: a direct branch has but one, and indirect ones have their own predictor.
// The set is chosen by address bits from 4 on. source: M. Godbolt, "Inside the Ivy Bridge and Haswell BTB" (2016): on a
// Haswell 4096 taken branches are all known while they are up to 24 bytes apart; so it is with four ways and bits 4 to
// 13, and with no others. chosen: the same for the other cores, of whom no such figure was found.
// Invariant: the tags of a set stand in the order of their last use, newest first.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "uarch/branch/branch_parameters.h"

namespace zs::uarch {

class BranchTargetBuffer {
 public:
  explicit BranchTargetBuffer(const BranchParameters& p)
      : ways_(p.btb_ways),
        set_bits_(std::countr_zero(p.btb_entries / p.btb_ways)),
        set_mask_(p.btb_entries / p.btb_ways - 1),
        tags_(p.btb_entries, kEmpty) {}

  /// Looks the taken branch at `pc` up, and makes it the newest of its set.
  /// returns whether it was there
  [[gnu::always_inline]] bool touch(std::uint64_t pc) {
    std::uint32_t* const set = newest_of(pc);
    const std::uint32_t tag = tag_of(pc);
    return set[0] == tag || move_to_front(set, tag);
  }
  /// For code that asks inline whether the branch is the newest of its set: then touch() does nothing.
  std::uint32_t* newest_of(std::uint64_t pc) { return &tags_[(pc >> kGranuleBits & set_mask_) * ways_]; }
  /// What of the address does not choose the set; of two branches 2^42 bytes apart it may be the same.
  std::uint32_t tag_of(std::uint64_t pc) const {
    constexpr std::uint64_t kWithin = (1U << kGranuleBits) - 1;
    return static_cast<std::uint32_t>((pc >> set_bits_ & ~kWithin) | (pc & kWithin));
  }

 private:
  [[gnu::noinline]] bool move_to_front(std::uint32_t* set, std::uint32_t tag) const {
    std::uint32_t moved = set[0];
    set[0] = tag;
    for (unsigned way = 1; way < ways_; ++way) {
      const std::uint32_t here = set[way];
      set[way] = moved;
      if (here == tag) return true;
      moved = here;
    }
    return false;
  }

  static constexpr unsigned kGranuleBits = 4;
  static constexpr std::uint32_t kEmpty = 0xFFFF'FFFF;  // of no address below 2^42
  unsigned ways_;
  int set_bits_;
  std::uint64_t set_mask_;
  std::vector<std::uint32_t> tags_;
};

}  // namespace zs::uarch
