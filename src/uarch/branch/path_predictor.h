// Conditional branches predicted from the path of taken branches: a base table by address, and tagged tables that see
// ever longer paths; the longest that knows the branch answers. What Intel's processors from Haswell on resemble.
//
// An entry that was just made is asked last when such entries have been wrong of late (`newcomers_`). A mispredict may
// make one entry, in the first longer table that has one there that is not useful; where all are, they are so no
// longer.
// Only some mispredicts do, at random: so fast do processors learn, and what they know is not lost to what cannot be
// learned. Usefulness is taken from all now and then, or old entries would stay for ever.
// Left out: banks, the loop predictor and statistical corrector of research predictors; updates wait for retirement on
// hardware and happen at once here.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/path_history.h"
#include "uarch/branch/saturating.h"

namespace zs::uarch {

namespace path_entry {

// An entry is one word: tag 12 bits, counter 3, useful 1. An empty one has tag 0 and may answer for a branch with that
// tag.
inline constexpr unsigned kTagAt = 4, kCounterAt = 1;
inline constexpr std::uint32_t kTagMask = 0xFFF0, kLowMask = 0xF, kUsefulMask = 1;
inline constexpr std::uint32_t kTakenBit = 4U << kCounterAt;
inline constexpr std::uint32_t kNewTaken = 4U << kCounterAt, kNewNotTaken = 3U << kCounterAt;  // useful: 0
constexpr unsigned useful_of(std::uint32_t entry) { return entry & kUsefulMask; }
constexpr std::uint16_t make_entry(std::uint32_t placed_tag, unsigned counter, unsigned useful) {
  return static_cast<std::uint16_t>(placed_tag | counter << kCounterAt | useful);
}

/// Counter and usefulness behind an outcome, by what they were, whether the branch was taken, and whether the next
/// shorter table that knows it had said otherwise.
inline constexpr std::array<std::uint8_t, 64> kLearned = [] {
  std::array<std::uint8_t, 64> learned{};
  for (unsigned i = 0; i < learned.size(); ++i) {
    const unsigned counter = i >> kCounterAt & 7, useful = i & kUsefulMask;
    const bool taken = (i >> kTagAt & 1) != 0, differ = (i >> kTagAt & 2) != 0;
    const unsigned used = differ ? stepped(useful, (counter >= 4) == taken, 1) : useful;
    learned[i] = static_cast<std::uint8_t>(make_entry(0, stepped(counter, taken, 7), used));
  }
  return learned;
}();
/// A counter of the base table, likewise: by what it was, the outcome (4), and whether it learns (8).
inline constexpr std::array<std::uint8_t, 16> kStepped = [] {
  std::array<std::uint8_t, 16> after{};
  for (unsigned i = 0; i < after.size(); ++i)
    after[i] = static_cast<std::uint8_t>((i & 8) != 0 ? stepped(i & 3, (i & 4) != 0, 3) : i & 3);
  return after;
}();

}  // namespace path_entry

class PathPredictor {
 public:
  static constexpr std::uint32_t kAgeAfter = 1U << 18;  // updates; chosen

  PathPredictor(const BranchParameters& p, const PathHashes& path)
      : base_(p.base_entries, 1),
        base_mask_(p.base_entries - 1),
        sets_(p.tagged_sets),
        set_mask_(p.tagged_sets - 1),
        tag_shift_(std::countr_zero(p.tagged_sets)),
        allocates_of_16_(p.allocates_of_16) {
    for (; tables_ < kMaxTaggedTables && p.histories[tables_] != 0; ++tables_) {
      hash_at_[tables_] = path.position(p.histories[tables_]);
    }
    tagged_.resize(std::size_t{sets_} * kTaggedWays * tables_);
  }

  /// Predicts the branch and learns its outcome.
  /// address  address_hash() of where it is
  /// returns whether the prediction was wrong
  bool predict_and_update(std::uint32_t address, const PathHashes& path, bool taken) {
    switch (tables_) {
      case 1: return predict<1>(address, path, taken);
      case 2: return predict<2>(address, path, taken);
      case 3: return predict<3>(address, path, taken);
      default: return predict<kMaxTaggedTables>(address, path, taken);
    }
  }

 private:
  // Without branches up to the outcome: which table answers, and what, is what the host cannot predict.
  template <std::size_t kTables>
  [[gnu::always_inline]] bool predict(std::uint32_t address, const PathHashes& path, bool taken) {
    std::uint8_t& base = base_[address & base_mask_];
    // Stands in for an entry where no table answers: as sure as can be, and so no newcomer.
    std::uint16_t from_base = path_entry::make_entry(0, predicts_taken(base) ? 7 : 0, 1);
    std::array<std::uint16_t*, kTables> sets;
    std::array<std::uint32_t, kTables> tags;  // in their place in an entry
    std::uint16_t* provider = &from_base;
    std::uint32_t entry = from_base, other = from_base;
    std::size_t longer = 0;  // tables from there on are longer than the one that answers
    bool second = false;     // another table knows the branch too
    for (std::size_t i = 0; i < kTables; ++i) {
      const std::uint32_t hash = address ^ path.of(hash_at_[i]);
      sets[i] = &tagged_[(i * sets_ + (hash & set_mask_)) * kTaggedWays];
      tags[i] = hash >> tag_shift_ << path_entry::kTagAt & path_entry::kTagMask;
      const std::uint64_t hits =
          lanes((ways_of(sets[i]) & path_entry::kTagMask) == static_cast<std::uint16_t>(tags[i]));
      const bool hit = hits != 0;
      std::uint16_t* const slot = sets[i] + first_lane(hits | kLastLane);
      const std::uint32_t found = *slot;
      other = hit ? entry : other;
      second = hit ? provider != &from_base : second;
      entry = hit ? found : entry;
      provider = hit ? slot : provider;
      longer = hit ? i + 1 : longer;
    }
    const std::uint32_t low = entry & path_entry::kLowMask;
    const bool entry_taken = (low & path_entry::kTakenBit) != 0;
    const bool other_taken = (other & path_entry::kTakenBit) != 0;
    const bool newcomer = (low == path_entry::kNewTaken) | (low == path_entry::kNewNotTaken);
    const bool differ = entry_taken != other_taken;
    const bool predicted = (newcomer & (newcomers_ >= 8)) ? other_taken : entry_taken;
    *provider = static_cast<std::uint16_t>(
        (entry & path_entry::kTagMask) |
        path_entry::kLearned[low | (taken ? 1U << path_entry::kTagAt : 0) | (differ ? 2U << path_entry::kTagAt : 0)]);
    newcomers_ = (newcomer & differ) ? stepped(newcomers_, other_taken == taken, 15) : newcomers_;
    base = path_entry::kStepped[base | (taken ? 4 : 0) | (((longer == 0) | (newcomer & !second)) ? 8 : 0)];
    if (predicted != taken) [[unlikely]]
      allocate(longer, sets.data(), tags.data(), kTables, taken);
    if (++updates_ == kAgeAfter) [[unlikely]]
      age();
    return predicted != taken;
  }

  void allocate(std::size_t first, std::uint16_t* const* sets, const std::uint32_t* tags, std::size_t tables,
                bool taken) {
    const std::uint32_t random = next_random();
    if (random % 16 >= allocates_of_16_) return;
    const int turn = static_cast<int>(random >> 4) % kTaggedWays;  // the way that is asked first
    for (std::size_t i = first; i < tables; ++i) {
      const std::uint64_t free = lanes((ways_of(sets[i]) & path_entry::kUsefulMask) == 0);
      if (free != 0) {
        const int way = (first_lane(std::rotr(free, turn * kLaneBits)) + turn) % kTaggedWays;
        sets[i][way] = path_entry::make_entry(tags[i], taken ? 4 : 3, 0);
        return;
      }
    }
    for (std::size_t i = first; i < tables; ++i) {
      for (int way = 0; way < kTaggedWays; ++way) --sets[i][way];  // useful, which is not 0, is the lowest field
    }
  }

  /// A set's entries, looked at all at once: the host has instructions for it.
  using Ways [[gnu::vector_size(sizeof(std::uint16_t) * kTaggedWays)]] = std::uint16_t;
  static constexpr int kLaneBits = 16;
  static constexpr std::uint64_t kLastLane = std::uint64_t{1} << 63;
  static Ways ways_of(const std::uint16_t* set) {
    Ways ways;
    std::memcpy(&ways, set, sizeof ways);
    return ways;
  }
  /// All bits of each lane for which a comparison holds.
  template <class Compared>
  static std::uint64_t lanes(Compared compared) {
    return std::bit_cast<std::uint64_t>(compared);
  }
  static int first_lane(std::uint64_t lanes) { return std::countr_zero(lanes) / kLaneBits; }

  /// Marsaglia's xorshift of 32 bits: what hardware takes from a shift register.
  std::uint32_t next_random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    return random_ ^= random_ << 5;
  }

  [[gnu::noinline]] void age() {
    updates_ = 0;
    for (std::uint16_t& entry : tagged_) entry = static_cast<std::uint16_t>(entry & ~path_entry::kUsefulMask);
  }

  std::vector<std::uint8_t> base_;
  std::vector<std::uint16_t> tagged_;  // table after table, set after set
  std::uint32_t base_mask_;
  std::uint32_t sets_, set_mask_;
  std::size_t tables_ = 0;
  std::array<std::uint8_t, kMaxTaggedTables> hash_at_{};
  int tag_shift_;
  unsigned allocates_of_16_;
  std::uint32_t random_ = 1;
  unsigned newcomers_ = 8;
  std::uint32_t updates_ = 0;
};

}  // namespace zs::uarch
