// What is being counted, as the translator needs it: the union of the lanes of a thread's PMUs, and per exit the number
// of occurrences on the path to it.
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

/// Set in a record of TraceForm::Records: its block began with a mark.
inline constexpr std::uint32_t kMarkedRecord = 1u << 31;

class LaneSet {
 public:
  /// models: a core model runs along, and tells of events that have a meaning in its signals; else they mean what they
  /// do without
  /// asleep: per lane, whether nobody counts it for now; empty: all are counted
  explicit LaneSet(std::vector<arch::EventMeaning> meanings, bool models = false, std::vector<bool> asleep = {})
      : meanings_(std::move(meanings)), models_(models), asleep_(std::move(asleep)) {
    asleep_.resize(meanings_.size(), false);
    for (std::size_t lane = 0; lane < meanings_.size(); ++lane) {
      if (!counted(lane)) continue;
      counted_ = true;
      memory_ |= meanings_[lane].memory;
      addresses_ |= meanings_[lane].addresses;
    }
  }
  std::size_t size() const { return meanings_.size(); }
  const arch::EventMeaning& operator[](std::size_t lane) const { return meanings_[lane]; }
  bool modelled(std::size_t lane) const { return models_ && meanings_[lane].of_signals != nullptr; }
  /// Whether every instruction counts in it, and no model is asked.
  bool counts_every_instruction(std::size_t lane) const { return !modelled(lane) && counts_plain(lane); }
  /// By exits, and not told by a core model.
  bool counted(std::size_t lane) const { return !modelled(lane) && !asleep_[lane]; }
  /// Whether an instruction that does nothing special counts in it.
  bool counts_plain(std::size_t lane) const { return meanings_[lane].count({}) != 0; }
  bool any_counted() const { return counted_; }
  /// Of the lanes that are counted.
  bool any_memory() const { return memory_; }
  bool any_addresses() const { return addresses_; }
  /// Rows of the count table hold eight lanes each; every exit has this many, and one where nothing is counted.
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
  explicit FactCounts(const LaneSet& lanes) : lanes_(lanes), entries_(kEntries), counts_(kEntries * lanes.size()) {}

  std::size_t lanes() const { return lanes_.size(); }
  /// One retirement of an instruction with `facts`; of a REP string, without its memory accesses. Holds until the next
  /// call.
  std::span<const std::uint32_t> of(const arch::InsnFacts& facts, bool taken);
  /// into[lane] += them. `into` may be empty: where nobody asks for counts
  void add(const arch::InsnFacts& facts, bool taken, std::span<std::uint32_t> into) {
    if (into.empty()) return;
    const auto counts = of(facts, taken);
    for (std::size_t lane = 0; lane < into.size(); ++lane) into[lane] += counts[lane];
  }

 private:
  static constexpr std::size_t kEntries = 512;
  const LaneSet& lanes_;
  std::vector<std::uint64_t> entries_;  // 0: free
  std::vector<std::uint32_t> counts_;
};

/// Occurrences per exit, eight lanes a row, dense: the consumer of the trace touches nothing else.
class CountTable {
 public:
  /// units: per lane, the occurrences that a word of a spaced trace stands for; 0 if the lane does not matter to it.
  CountTable(const LaneSet& lanes, std::span<const std::uint32_t> units)
      : groups_(lanes.groups()), lanes_(lanes.size()), most_(lanes.size(), 0), units_(units.begin(), units.end()) {}

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
  std::uint32_t at(std::uint32_t exit, std::size_t lane) const {
    return rows_[exit * groups_ + lane / 8].lane[lane % 8];
  }
  /// The most that any exit so far adds to `lane`.
  std::uint32_t most(std::size_t lane) const { return most_[lane]; }

  /// Words of a spaced trace that `exit` takes: for no lane does it bring more occurrences than they stand for. At
  /// least 1.
  std::uint32_t words(std::uint32_t exit) const { return words_[exit]; }
  std::uint32_t most_words() const { return most_words_; }

  /// Whether an overflow of `lane` may be near.
  bool near(std::size_t lane) const { return units_[lane] != 0; }

  /// totals[lane] += occurrences over the exits `ids`.
  void sum(std::span<const std::uint32_t> ids, std::span<std::uint64_t> totals) const;

  /// Lanes, rounded up to whole groups of eight.
  std::size_t padded_lanes() const { return groups_ * 8; }
  /// running[lane] += occurrences over the records up to the first marked one. Made for few at a time.
  /// running: padded_lanes() long; at most 2^24 records may be added to one
  /// returns  how many were added
  std::size_t add_up_to_marked(std::span<const std::uint32_t> records, std::span<std::uint32_t> running) const;

  /// totals[lane] += occurrences over the exits `ids`, of which there are at most kMostWithin, as long as all lanes
  /// stay within room[lane].
  /// returns  how many exits were added: the next one would pass the room
  std::size_t add_within(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> room,
                         std::span<std::uint64_t> totals) const;
  static constexpr std::size_t kMostWithin = std::size_t{1} << 21;

 private:
  struct alignas(16) Row {
    std::uint16_t lane[8];
  };
  using Eight = std::array<std::uint32_t, 8>;
  std::size_t lanes_of(std::size_t group) const { return std::min<std::size_t>(8, lanes_ - group * 8); }
  void sum_group(std::size_t group, std::span<const std::uint32_t> ids, std::span<std::uint64_t> totals) const;
  std::size_t sum_within(std::size_t group, std::span<const std::uint32_t> ids, const Eight& left, Eight& sums) const;
  std::size_t groups_, lanes_;
  GrowingArray<Row> rows_;
  std::vector<std::uint32_t> most_;
  std::vector<std::uint32_t> units_;
  GrowingArray<std::uint8_t> words_;
  std::uint32_t most_words_ = 1;
};

}  // namespace zs::engine
