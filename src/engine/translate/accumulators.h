// What is being counted, as the translator needs it: the union of the accumulators of a thread's PMUs, and per exit the
// number of occurrences on the path to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/retired.h"
#include "engine/translate/growing_array.h"
#include "engine/translate/snapshot.h"

namespace zs::engine {

/// Bound on the occurrences of one event in one instruction that is not a REP string.
inline constexpr std::uint32_t kMaxPerInstruction = 4;

/// Set in a record of TraceForm::Records: its block began with a probe.
inline constexpr std::uint32_t kProbedRecord = 1u << 31;

class AccumulatorSet {
 public:
  /// models: a core model runs along, and tells of events that have a meaning in its signals; else they mean what they
  /// do without
  /// asleep: per accumulator, whether nobody counts it for now; empty: all are counted
  explicit AccumulatorSet(std::vector<arch::EventMeaning> meanings, bool models = false, std::vector<bool> asleep = {})
      : meanings_(std::move(meanings)), models_(models), asleep_(std::move(asleep)) {
    asleep_.resize(meanings_.size(), false);
    for (std::size_t accumulator = 0; accumulator < meanings_.size(); ++accumulator) {
      if (!counted(accumulator)) continue;
      counted_ = true;
      memory_ |= meanings_[accumulator].memory;
      addresses_ |= meanings_[accumulator].addresses;
    }
  }
  std::size_t size() const { return meanings_.size(); }
  const arch::EventMeaning& operator[](std::size_t accumulator) const { return meanings_[accumulator]; }
  bool modelled(std::size_t accumulator) const { return models_ && meanings_[accumulator].of_signals != nullptr; }
  /// Whether every instruction counts in it, and no model is asked.
  bool counts_every_instruction(std::size_t accumulator) const {
    return !modelled(accumulator) && counts_plain(accumulator);
  }
  /// By exits, and not told by a core model.
  bool counted(std::size_t accumulator) const { return !modelled(accumulator) && !asleep_[accumulator]; }
  /// Whether an instruction that does nothing special counts in it.
  bool counts_plain(std::size_t accumulator) const { return meanings_[accumulator].count({}) != 0; }
  bool any_counted() const { return counted_; }
  /// Of the accumulators that are counted.
  bool any_memory() const { return memory_; }
  bool any_addresses() const { return addresses_; }
  /// Rows of the count table hold eight accumulators each; every exit has this many, and one where nothing is counted.
  std::size_t groups() const { return meanings_.empty() ? 1 : (meanings_.size() + 7) / 8; }

 private:
  std::vector<arch::EventMeaning> meanings_;
  bool models_;
  std::vector<bool> asleep_;
  bool memory_ = false, addresses_ = false, counted_ = false;
};

/// Occurrences per instruction, remembered: instructions with equal facts count alike, and there are few kinds of them.
class FactCounts {
 public:
  explicit FactCounts(const AccumulatorSet& accumulators)
      : accumulators_(accumulators), entries_(kEntries), counts_(kEntries * accumulators.size()) {}

  std::size_t accumulators() const { return accumulators_.size(); }
  /// One retirement of an instruction with `facts`; of a REP string, without its memory accesses. Holds until the next
  /// call.
  std::span<const std::uint32_t> of(const arch::InsnFacts& facts, bool taken);
  /// into[accumulator] += them. `into` may be empty: where nobody asks for counts
  void add(const arch::InsnFacts& facts, bool taken, std::span<std::uint32_t> into) {
    if (into.empty()) return;
    const auto counts = of(facts, taken);
    for (std::size_t accumulator = 0; accumulator < into.size(); ++accumulator)
      into[accumulator] += counts[accumulator];
  }

 private:
  static constexpr std::size_t kEntries = 512;
  const AccumulatorSet& accumulators_;
  std::vector<std::uint64_t> entries_;  // 0: free
  std::vector<std::uint32_t> counts_;
};

/// Occurrences per exit, eight accumulators a row, dense: the consumer of the trace touches nothing else.
class CountTable {
 public:
  /// units: per accumulator, the occurrences that a word of a spaced trace stands for; 0 if the accumulator does not
  /// matter to it.
  CountTable(const AccumulatorSet& accumulators, std::span<const std::uint32_t> units)
      : groups_(accumulators.groups()),
        accumulators_(accumulators.size()),
        most_(accumulators.size(), 0),
        units_(units.begin(), units.end()) {}

  /// least_words: what the exit's record takes whatever it counts
  void add_exit(std::span<const std::uint32_t> counts, unsigned least_words = 1);
  void set_exit(std::uint32_t exit, std::span<const std::uint32_t> counts, unsigned least_words = 1);
  void clear() {
    rows_.clear();
    words_.clear();
  }
  /// The exit added next is that one; nothing is known of those before it.
  void begin_at(std::size_t exit) {
    rows_.place(exit * groups_);
    words_.place(exit);
  }
  std::size_t bytes_of_exit() const { return groups_ * sizeof(Row) + 1; }
  void reserve(std::size_t exits) { rows_.reserve(exits * groups_); }
  void save(SnapshotWriter& out, SnapshotFacts& facts) const;
  /// exits  of which there must be rows; 0: there are none
  /// returns whether they are there
  bool restore(const Snapshot& from, const SnapshotFacts& facts, std::size_t exits);
  std::uint32_t at(std::uint32_t exit, std::size_t accumulator) const {
    return rows_[exit * groups_ + accumulator / 8].accumulator[accumulator % 8];
  }
  /// The most that any exit so far adds to `accumulator`.
  std::uint32_t most(std::size_t accumulator) const { return most_[accumulator]; }

  /// Words of a spaced trace that `exit` takes: for no accumulator does it bring more occurrences than they stand for.
  /// At least 1.
  std::uint32_t words(std::uint32_t exit) const { return words_[exit]; }
  std::uint32_t most_words() const { return most_words_; }

  /// Whether an overflow of `accumulator` may be near.
  bool near(std::size_t accumulator) const { return units_[accumulator] != 0; }

  /// totals[accumulator] += occurrences over the exits `ids`.
  void sum(std::span<const std::uint32_t> ids, std::span<std::uint64_t> totals) const;

  /// Accumulators, rounded up to whole groups of eight.
  std::size_t padded_accumulators() const { return groups_ * 8; }
  /// running[accumulator] += occurrences over the records up to the first probed one. Made for few at a time.
  /// running: padded_accumulators() long; at most 2^24 records may be added to one
  /// returns  how many were added
  std::size_t add_up_to_probed(std::span<const std::uint32_t> records, std::span<std::uint32_t> running) const;

  /// totals[accumulator] += occurrences over the exits `ids`, of which there are at most kMostWithin, as long as all
  /// accumulators stay within room[accumulator].
  /// returns  how many exits were added: the next one would pass the room
  std::size_t add_within(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> room,
                         std::span<std::uint64_t> totals) const;
  static constexpr std::size_t kMostWithin = std::size_t{1} << 21;

 private:
  struct alignas(16) Row {
    std::uint16_t accumulator[8];
  };
  using Eight = std::array<std::uint32_t, 8>;
  std::size_t accumulators_of(std::size_t group) const { return std::min<std::size_t>(8, accumulators_ - group * 8); }
  void sum_group(std::size_t group, std::span<const std::uint32_t> ids, std::span<std::uint64_t> totals) const;
  std::size_t sum_within(std::size_t group, std::span<const std::uint32_t> ids, const Eight& left, Eight& sums) const;
  std::size_t groups_, accumulators_;
  GrowingArray<Row> rows_;
  std::vector<std::uint32_t> most_;
  std::vector<std::uint32_t> units_;
  GrowingArray<std::uint8_t> words_;
  std::uint32_t most_words_ = 1;
};

}  // namespace zs::engine
