// Targets of indirect jumps and calls: the last target by address, and tagged tables hashed with the path. The path is
// worth more here than anywhere: an interpreter's dispatch is nearly always right with it and nearly always wrong
// without.
// Left out: targets are whole addresses, not offsets and regions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/path_history.h"
#include "uarch/branch/saturating.h"

namespace zs::uarch {

class IndirectPredictor {
 public:
  static constexpr std::uint32_t kAgeAfter = 1U << 18;  // updates; chosen

  IndirectPredictor(const BranchParameters& p, const PathHashes& path)
      : last_(p.indirect_last_entries, 0),
        entries_(p.indirect_entries),
        tag_shift_(std::countr_zero(p.indirect_entries)) {
    for (; tables_ < kMaxTaggedTables && p.indirect_histories[tables_] != 0; ++tables_) {
      hash_at_[tables_] = path.position(p.indirect_histories[tables_]);
    }
    tagged_.resize(std::size_t{entries_} * tables_);
  }

  /// Predicts the target of a branch and learns it.
  /// address  address_hash() of where it is
  /// returns whether the prediction was wrong
  bool predict_and_update(std::uint32_t address, const PathHashes& path, std::uint64_t target) {
    const std::uint64_t wanted = target & kTargetMask;
    std::array<std::uint64_t*, kMaxTaggedTables> slots;
    std::array<std::uint64_t, kMaxTaggedTables> tags;
    unsigned hits = 0;
    for (std::size_t i = 0; i < tables_; ++i) {
      const std::uint32_t hash = address ^ path.of(hash_at_[i]);
      slots[i] = &tagged_[i * entries_ + (hash & (entries_ - 1))];
      tags[i] = hash >> tag_shift_ & kTagMask;
      hits |= (tag_of(*slots[i]) == tags[i] ? 1U : 0U) << i;
    }
    const int provider = std::bit_width(hits) - 1;
    const int alternative = provider < 0 ? -1 : std::bit_width(hits ^ 1U << provider) - 1;
    std::uint64_t& last = last_[address & (last_.size() - 1)];
    const std::uint64_t other = alternative < 0 ? last : target_of(*slots[static_cast<std::size_t>(alternative)]);

    bool wrong = last != wanted;
    if (provider >= 0) {
      std::uint64_t& entry = *slots[static_cast<std::size_t>(provider)];
      wrong = target_of(entry) != wanted;
      unsigned useful = useful_of(entry);
      if (target_of(entry) != other) useful = stepped(useful, !wrong, 3);
      if (!wrong) {
        entry = make_entry(wanted, tag_of(entry), stepped(confidence_of(entry), true, 3), useful);
      } else if (confidence_of(entry) != 0) {
        entry = make_entry(target_of(entry), tag_of(entry), confidence_of(entry) - 1, useful);
      } else {
        entry = make_entry(wanted, tag_of(entry), 0, useful);
      }
    }
    last = wanted;
    if (wrong) allocate(static_cast<std::size_t>(std::bit_width(hits)), slots, tags, wanted);
    if (++updates_ == kAgeAfter) age();
    return wrong;
  }

 private:
  // An entry is one word: target 48 bits, tag 12, confidence 2, useful 2. Canonical addresses differ in no higher bit.
  static constexpr std::uint64_t kTargetMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kTagMask = 0xFFF;
  static constexpr std::uint64_t target_of(std::uint64_t entry) { return entry & kTargetMask; }
  static constexpr std::uint64_t tag_of(std::uint64_t entry) { return entry >> 48 & kTagMask; }
  static constexpr unsigned confidence_of(std::uint64_t entry) { return static_cast<unsigned>(entry >> 60 & 3); }
  static constexpr unsigned useful_of(std::uint64_t entry) { return static_cast<unsigned>(entry >> 62); }
  static constexpr std::uint64_t make_entry(std::uint64_t target, std::uint64_t tag, unsigned confidence,
                                            unsigned useful) {
    return target | tag << 48 | std::uint64_t{confidence} << 60 | std::uint64_t{useful} << 62;
  }

  void allocate(std::size_t first, const std::array<std::uint64_t*, kMaxTaggedTables>& slots,
                const std::array<std::uint64_t, kMaxTaggedTables>& tags, std::uint64_t target) {
    constexpr std::uint64_t one_useful = std::uint64_t{1} << 62;
    for (std::size_t i = first; i < tables_; ++i) {
      if (useful_of(*slots[i]) == 0) {
        *slots[i] = make_entry(target, tags[i], 0, 0);
        return;
      }
    }
    for (std::size_t i = first; i < tables_; ++i) *slots[i] -= one_useful;
  }

  void age() {
    updates_ = 0;
    for (std::uint64_t& entry : tagged_) {
      entry = make_entry(target_of(entry), tag_of(entry), confidence_of(entry), useful_of(entry) / 2);
    }
  }

  std::vector<std::uint64_t> last_;
  std::vector<std::uint64_t> tagged_;  // table after table
  std::uint32_t entries_;
  std::size_t tables_ = 0;
  std::array<std::uint8_t, kMaxTaggedTables> hash_at_{};
  int tag_shift_;
  std::uint32_t updates_ = 0;
};

}  // namespace zs::uarch
