// What lies in the last-level cache of a program of which only units are modelled. Between units the model is told of
// the accesses to one line in thirty-two (arch::LineSample). The sets of L2 and LLC that these lines go to see nothing
// else, so a cache of as many sets fewer, which is told of them alone, has the same contents: it is never stale.
//
// In a unit, a line that L2 does not have is looked up there if it is of the class. Of the others nobody knows; such a
// line is in L2, or in LLC, as often as those of the class for which the same instruction asked, and where that has not
// asked for enough of them, any instruction. While every access to the class is told of, a line of it that never was is
// nowhere. Later nobody knows of such a line, if an instruction asks whose accesses are not told of in between.
// Left out: the policies of the caches, which are LRU here; prefetchers in between; how cores share lines.
// source: sampled sets, as in Qureshi et al., "Adaptive insertion policies" (ISCA 2007), set dueling; measured in
// docs/models/machine.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arch/core_feed.h"
#include "arch/reported_in_full.h"
#include "uarch/cache/line.h"
#include "uarch/flat_map.h"
#include "uarch/memory/beyond_l2.h"
#include "uarch/memory_parameters.h"

namespace zs::uarch {

class LastLevelSample {
 public:
  LastLevelSample(const MemoryParameters& parameters, unsigned cores)
      : victim_(parameters.llc_role == LlcRole::Victim), llc_(parameters.llc), l2_(cores, Level(parameters.l2)) {}

  /// Whether accesses to the line are told of in between.
  static constexpr bool has(Line line) { return line % arch::LineSample::kOneIn == arch::LineSample::kClass; }

  /// A line of the class was accessed by this core.
  void access(unsigned core, Line line) {
    ++accesses_;
    if (Line* const found = l2_[core].find(line); found != nullptr) {
      l2_[core].touch(found);
      return;
    }
    ++l2_misses_;
    seen_[line] = true;
    Line* const below = llc_.find(line);
    if (below == nullptr) ++llc_misses_;
    if (below != nullptr && victim_) llc_.remove(below);
    if (below != nullptr && !victim_) llc_.touch(below);
    if (below == nullptr && !victim_) llc_.insert(line);
    const Line evicted = l2_[core].insert(line);
    if (victim_ && evicted != kNoLine) llc_.insert(evicted);
  }

  /// Whether this core's L2 would have a line that it has not, because it was told of units alone.
  /// instruction  its address: that asks
  bool in_l2(unsigned core, Line line, std::uint64_t instruction) {
    return judge_line(line, instruction, l2_rates_, [&] { return l2_[core].find(line) != nullptr; });
  }

  /// Whether LLC, or another core, has a line that this core's L2 has not.
  bool in_llc(Line line, std::uint64_t instruction) {
    return judge_line(line, instruction, llc_rates_, [&] {
      bool found = llc_.find(line) != nullptr;
      for (auto level = l2_.begin(); !found && level != l2_.end(); ++level) found = level->find(line) != nullptr;
      return found;
    });
  }

  /// A stretch is over of which only the class was told.
  void end_stretch() {
    ++stretches_;
    askers_.skipped();
  }
  /// Of which instructions access() is to be told.
  BeyondL2& askers() { return askers_; }

  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t l2_misses() const { return l2_misses_; }
  std::uint64_t llc_misses() const { return llc_misses_; }

 private:
  /// Of the lines of the class for which somebody asked in units: how many were not there. What was seen counts half in
  /// the next stretch, so that what a program asks for while it starts says nothing of what it does then.
  struct MissRate {
    double asked = 0, missed = 0;
    std::uint64_t stretch = 0;
    void grow_old(std::uint64_t now) {
      if (now == stretch) return;
      const double left = std::exp2(-static_cast<double>(now - std::exchange(stretch, now)));
      asked *= left;
      missed *= left;
    }
    void add(bool miss) {
      constexpr double kRemembered = 256;  // chosen: programs have phases
      if (asked >= kRemembered) {
        asked /= 2;
        missed /= 2;
      }
      asked += 1;
      missed += miss ? 1 : 0;
    }
    /// Until enough is known, as `others` have it. They are hits while nobody knows anything.
    double rate(double others) const {
      constexpr double kEnough = 4;  // chosen
      return (missed + kEnough * others) / (asked + kEnough);
    }
  };
  struct MissRates {
    MissRate all;
    FlatMap<MissRate> by_instruction;
    double owed = 0;  // misses; at 1, the next one is due
  };

  template <typename Look>
  bool judge_line(Line line, std::uint64_t instruction, MissRates& rates, Look there) {
    MissRate& own = rates.by_instruction[instruction];
    own.grow_old(stretches_);
    rates.all.grow_old(stretches_);
    const bool in_full = stretches_ <= arch::kStretchesReportedInFull;
    if (has(line) && (in_full || askers_.reported(instruction) || seen_.find(line) != nullptr)) {
      const bool found = there();
      own.add(!found);
      rates.all.add(!found);
      return found;
    }
    rates.owed += own.rate(rates.all.rate(0));
    if (rates.owed < 1) return true;
    rates.owed -= 1;
    return false;
  }

  /// The sets of one cache that lines of the class go to; in each, the newest first.
  class Level {
   public:
    explicit Level(const CacheParameters& cache)
        : ways_(cache.ways),
          sets_(std::max<std::uint64_t>(cache.sets() / arch::LineSample::kOneIn, 1)),
          hashed_(cache.hashed),
          lines_(ways_ * sets_, kNoLine) {}

    Line* find(Line line) {
      Line* const set = set_of(line);
      Line* const found = std::find(set, set + ways_, line);
      return found == set + ways_ ? nullptr : found;
    }
    /// Makes it the newest of its set.
    void touch(Line* place) { std::rotate(set_of(*place), place, place + 1); }
    /// returns what had to leave
    Line insert(Line line) {
      Line* const set = set_of(line);
      const Line evicted = set[ways_ - 1];
      std::copy_backward(set, set + ways_ - 1, set + ways_);
      *set = line;
      return evicted;
    }
    void remove(Line* place) {
      Line* const set = set_of(*place);
      std::copy(place + 1, set + ways_, place);
      set[ways_ - 1] = kNoLine;
    }

   private:
    Line* set_of(Line line) {
      const std::uint64_t block = line / arch::LineSample::kOneIn;
      const std::uint64_t mixed = hashed_ ? (block * 0x9E37'79B9'7F4A'7C15) >> 32 : block;
      return lines_.data() + ways_ * (mixed % sets_);
    }

    std::size_t ways_;
    std::uint64_t sets_;
    bool hashed_;
    std::vector<Line> lines_;
  };

  bool victim_;
  Level llc_;
  std::vector<Level> l2_;  // by core
  MissRates l2_rates_, llc_rates_;
  FlatMap<bool> seen_;  // lines of the class
  BeyondL2 askers_;
  std::uint64_t stretches_ = 0;
  std::uint64_t accesses_ = 0, l2_misses_ = 0, llc_misses_ = 0;
};

}  // namespace zs::uarch
