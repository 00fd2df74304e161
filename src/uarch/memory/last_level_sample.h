// What lies in the last-level cache of a program of which only units are modelled. Between units the model is told of the accesses to
// one line in thirty-two (arch::LineSample). The sets of L2 and LLC that these lines go to see nothing else, so a cache of as many sets
// fewer, which is told of them alone, has the same contents: it is never stale.
//
// In a unit, a line that L2 does not have is then judged by its neighbour of that class, in the same 2 KiB. It comes from where that one
// came from the last time. If that was its first, it says little: if it was just now, this one comes from memory too (a sweep), otherwise
// it is where that one is.
// Left out: the policies of the caches, which are LRU here; prefetchers in between; how cores share lines.
// source: sampled sets, as in Qureshi et al., "Adaptive insertion policies" (ISCA 2007), set dueling; measured in docs/accuracy.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/cache/line.h"
#include "uarch/flat_map.h"
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
    if (Entry* const found = l2_[core].find(line); found != nullptr) {
      l2_[core].touch(found);
      return;
    }
    ++l2_misses_;
    Entry* const below = llc_.find(line);
    std::uint32_t& known = known_[block_of(line)];
    const bool again = (known & kSeen) != 0;
    known = kSeen | (again ? kSeenAgain : 0U) | (below == nullptr ? kWasMiss : 0U);
    const Entry entry{.line = line, .filled = stretch_, .from_memory = below == nullptr};
    if (below == nullptr) ++llc_misses_;
    if (below != nullptr && victim_) llc_.remove(below);
    if (below != nullptr && !victim_) *llc_.touch(below) = entry;
    if (below == nullptr && !victim_) llc_.insert(entry);
    const Entry evicted = l2_[core].insert(entry);
    if (victim_ && evicted.line != kNoLine) llc_.insert(evicted);
  }

  /// Whether this core's L2 would have a line that it has not, because it was told of units alone: it has had the neighbour for a while.
  bool in_l2(unsigned core, Line line) {
    const Entry* const found = l2_[core].find(neighbour_of(line));
    return found != nullptr && found->filled + 1 < stretch_;
  }

  /// Whether LLC has a line that this core's L2 has not. fetched: it is of instructions, or of page tables, of which nobody tells in between
  bool judge(Line line, bool fetched) {
    const std::uint32_t* const noted = known_.find(block_of(line));
    const std::uint32_t known = noted == nullptr ? 0 : *noted;
    if ((known & kSeenAgain) != 0) return (known & kWasMiss) == 0;
    const Line neighbour = neighbour_of(line);
    const Entry* found = llc_.find(neighbour);
    for (auto level = l2_.begin(); found == nullptr && level != l2_.end(); ++level) found = level->find(neighbour);
    if (found != nullptr) return !found->from_memory || found->filled + 1 < stretch_;
    if (fetched) return true;
    if ((known & kSeen) != 0) return false;  // it was there, and has left
    // Nobody knows of anything there: as often as elsewhere.
    debt_ += miss_ratio();
    if (debt_ < 1) return true;
    debt_ -= 1;
    return false;
  }

  /// A stretch is over of which only the class was told.
  void end_stretch() { ++stretch_; }

  double miss_ratio() const {
    return l2_misses_ == 0 ? 0 : static_cast<double>(llc_misses_) / static_cast<double>(l2_misses_);
  }
  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t l2_misses() const { return l2_misses_; }
  std::uint64_t llc_misses() const { return llc_misses_; }

 private:
  /// Of a block: its line of the class has come to L2, more than once; the last time from memory.
  static constexpr std::uint32_t kSeen = 1, kSeenAgain = 2, kWasMiss = 4;
  static constexpr std::uint64_t block_of(Line line) { return line / arch::LineSample::kOneIn; }
  static constexpr Line neighbour_of(Line line) {
    return static_cast<Line>(block_of(line) * arch::LineSample::kOneIn + arch::LineSample::kClass);
  }

  struct Entry {
    Line line = kNoLine;
    std::uint32_t filled = 0;  // in which stretch it came to L2
    bool from_memory = false;  // from there
  };

  /// The sets of one cache that lines of the class go to; in each, the newest first.
  class Level {
   public:
    explicit Level(const CacheParameters& cache)
        : ways_(cache.ways),
          sets_(std::max<std::uint64_t>(cache.sets() / arch::LineSample::kOneIn, 1)),
          hashed_(cache.hashed),
          entries_(ways_ * sets_) {}

    Entry* find(Line line) {
      Entry* const set = set_of(line);
      for (Entry* at = set; at != set + ways_; ++at) {
        if (at->line == line) return at;
      }
      return nullptr;
    }
    /// Makes it the newest of its set. returns where it is now
    Entry* touch(Entry* entry) {
      Entry* const set = set_of(entry->line);
      std::rotate(set, entry, entry + 1);
      return set;
    }
    /// returns what had to leave
    Entry insert(const Entry& entry) {
      Entry* const set = set_of(entry.line);
      const Entry evicted = set[ways_ - 1];
      std::copy_backward(set, set + ways_ - 1, set + ways_);
      *set = entry;
      return evicted;
    }
    void remove(Entry* entry) {
      Entry* const set = set_of(entry->line);
      std::copy(entry + 1, set + ways_, entry);
      set[ways_ - 1] = {};
    }

   private:
    Entry* set_of(Line line) {
      const std::uint64_t block = block_of(line);
      const std::uint64_t mixed = hashed_ ? (block * 0x9E37'79B9'7F4A'7C15) >> 32 : block;
      return entries_.data() + ways_ * (mixed % sets_);
    }

    std::size_t ways_;
    std::uint64_t sets_;
    bool hashed_;
    std::vector<Entry> entries_;
  };

  bool victim_;
  Level llc_;
  std::vector<Level> l2_;  // by core
  FlatMap<std::uint32_t> known_;
  std::uint32_t stretch_ = 1;
  std::uint64_t accesses_ = 0, l2_misses_ = 0, llc_misses_ = 0;
  double debt_ = 0;
};

}  // namespace zs::uarch
