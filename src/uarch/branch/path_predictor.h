// Conditional branches predicted from the path of taken branches: a base table by address, and tagged tables that see ever
// longer paths; the longest that knows the branch answers. What Intel's processors from Haswell on resemble.
//
// An entry that was just made is asked last when such entries have been wrong of late (`newcomers_`). A mispredict makes one
// entry, in the first longer table whose entry there is not useful; where all are, they become less so. Usefulness is
// halved now and then, or old entries would stay for ever.
// Left out: banks, the loop predictor and statistical corrector of research predictors; updates wait for retirement on
// hardware and happen at once here.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/path_history.h"
#include "uarch/branch/saturating.h"

namespace zs::uarch {

class PathPredictor {
 public:
  static constexpr std::uint32_t kAgeAfter = 1U << 18;  // updates; chosen

  PathPredictor(const BranchParameters& p, const PathHashes& path)
      : base_(p.base_entries, 1), entries_(p.tagged_entries), tag_shift_(std::countr_zero(p.tagged_entries)) {
    for (; tables_ < kMaxTaggedTables && p.histories[tables_] != 0; ++tables_) {
      hash_at_[tables_] = path.position(p.histories[tables_]);
    }
    tagged_.resize(std::size_t{entries_} * tables_);
  }

  /// Predicts the branch at `pc` and learns its outcome.
  /// returns whether the prediction was wrong
  bool predict_and_update(std::uint64_t pc, const PathHashes& path, bool taken) {
    const std::uint32_t address = address_hash(pc);
    std::array<std::uint16_t*, kMaxTaggedTables> slots;
    std::array<std::uint16_t, kMaxTaggedTables> tags;
    unsigned hits = 0;  // without branches: which table answers is what the host cannot predict
    for (std::size_t i = 0; i < tables_; ++i) {
      const std::uint32_t hash = address ^ path.of(hash_at_[i]);
      slots[i] = &tagged_[i * entries_ + (hash & (entries_ - 1))];
      tags[i] = static_cast<std::uint16_t>(hash >> tag_shift_ & kTagMask);
      hits |= (tag_of(*slots[i]) == tags[i] ? 1U : 0U) << i;
    }
    const int provider = std::bit_width(hits) - 1;
    const int alternative = provider < 0 ? -1 : std::bit_width(hits ^ 1U << provider) - 1;
    std::uint8_t& base = base_[address & (base_.size() - 1)];
    const bool base_taken = predicts_taken(base);

    bool predicted = base_taken;
    if (provider < 0) {
      base = static_cast<std::uint8_t>(stepped(base, taken, 3));
    } else {
      std::uint16_t& entry = *slots[static_cast<std::size_t>(provider)];
      const bool entry_taken = counter_of(entry) >= 4;
      const bool other_taken =
          alternative < 0 ? base_taken : counter_of(*slots[static_cast<std::size_t>(alternative)]) >= 4;
      const bool newcomer = useful_of(entry) == 0 && (counter_of(entry) == 3 || counter_of(entry) == 4);
      predicted = newcomer && newcomers_ >= 8 ? other_taken : entry_taken;
      unsigned useful = useful_of(entry);
      if (entry_taken != other_taken) {
        useful = stepped(useful, entry_taken == taken, 3);
        if (newcomer) newcomers_ = stepped(newcomers_, other_taken == taken, 15);
      }
      entry = make_entry(tag_of(entry), stepped(counter_of(entry), taken, 7), useful);
      if (newcomer && alternative < 0) base = static_cast<std::uint8_t>(stepped(base, taken, 3));
    }
    if (predicted != taken) allocate(static_cast<std::size_t>(std::bit_width(hits)), slots, tags, taken);
    if (++updates_ == kAgeAfter) age();
    return predicted != taken;
  }

 private:
  // An entry is one word: tag 11 bits, counter 3, useful 2. An empty one has tag 0 and may answer for a branch with that tag.
  static constexpr unsigned kTagMask = 0x7FF;
  static constexpr std::uint16_t tag_of(std::uint16_t entry) { return entry >> 5; }
  static constexpr unsigned counter_of(std::uint16_t entry) { return entry >> 2 & 7; }
  static constexpr unsigned useful_of(std::uint16_t entry) { return entry & 3; }
  static constexpr std::uint16_t make_entry(unsigned tag, unsigned counter, unsigned useful) {
    return static_cast<std::uint16_t>(tag << 5 | counter << 2 | useful);
  }

  void allocate(std::size_t first, const std::array<std::uint16_t*, kMaxTaggedTables>& slots,
                const std::array<std::uint16_t, kMaxTaggedTables>& tags, bool taken) {
    for (std::size_t i = first; i < tables_; ++i) {
      if (useful_of(*slots[i]) == 0) {
        *slots[i] = make_entry(tags[i], taken ? 4 : 3, 0);
        return;
      }
    }
    for (std::size_t i = first; i < tables_; ++i) --*slots[i];  // useful, which is not 0, is the lowest field
  }

  void age() {
    updates_ = 0;
    for (std::uint16_t& entry : tagged_) entry = make_entry(tag_of(entry), counter_of(entry), useful_of(entry) / 2);
  }

  std::vector<std::uint8_t> base_;
  std::vector<std::uint16_t> tagged_;  // table after table
  std::uint32_t entries_;
  std::size_t tables_ = 0;
  std::array<std::uint8_t, kMaxTaggedTables> hash_at_{};
  int tag_shift_;
  unsigned newcomers_ = 8;
  std::uint32_t updates_ = 0;
};

}  // namespace zs::uarch
