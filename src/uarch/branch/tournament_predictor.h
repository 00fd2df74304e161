// Conditional branches predicted by two tables of 2-bit counters, one by address, one by address and the last outcomes,
// and a third that says which of the two has been right here. Westmere's predictor is modelled by it.
// Left out: local histories; the loop detector of Intel's Core generation.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/path_history.h"
#include "uarch/branch/saturating.h"

namespace zs::uarch {

class TournamentPredictor {
 public:
  // The counter by address stands in bits 0 and 1, that by outcomes in 2 and 3, the chooser in 4 and 5. The chooser is
  // found by the address, so it shares a byte with the first.
  static constexpr std::uint8_t kOfAddress = 0x33, kOfOutcomes = 0x0C, kTaken = 0x40, kWrong = 0x40;

  explicit TournamentPredictor(const BranchParameters& p)
      : by_address_(p.base_entries, kFirst & kOfAddress),
        by_outcomes_(p.outcome_entries, kFirst & kOfOutcomes),
        mask_(p.outcome_entries - 1),
        history_mask_((std::uint64_t{1} << p.outcome_history) - 1),
        index_bits_(std::countr_zero(p.outcome_entries)) {}

  /// Predicts the branch and learns its outcome.
  /// address  address_hash() of where it is
  /// returns whether the prediction was wrong
  [[gnu::always_inline]] bool predict_and_update(std::uint32_t address, bool taken) {
    // A history longer than the index is folded onto it.
    const auto folded = static_cast<std::uint32_t>(outcomes_ ^ outcomes_ >> index_bits_);
    std::uint8_t& own = by_address_[address & mask_];
    std::uint8_t& correlated = by_outcomes_[(address ^ folded) & mask_];
    const std::uint8_t learned = kLearned[own | correlated | (taken ? kTaken : 0)];
    own = learned & kOfAddress;
    correlated = learned & kOfOutcomes;
    outcomes_ = (outcomes_ << 1 | (taken ? 1 : 0)) & history_mask_;
    return (learned & kWrong) != 0;
  }

 private:
  static constexpr unsigned kFirst = 1U | 1U << 2 | 1U << 4;
  /// The three counters behind an outcome, and whether they were wrong, by what they were and the outcome.
  static constexpr std::array<std::uint8_t, 128> kLearned = [] {
    std::array<std::uint8_t, 128> learned{};
    for (unsigned i = 0; i < learned.size(); ++i) {
      const unsigned simple = i & 3, correlated = i >> 2 & 3, chooser = i >> 4 & 3;
      const bool taken = (i & kTaken) != 0, simple_taken = simple >= 2, correlated_taken = correlated >= 2;
      const bool predicted = chooser >= 2 ? correlated_taken : simple_taken;
      const unsigned rechosen =
          simple_taken == correlated_taken ? chooser : stepped(chooser, correlated_taken == taken, 3);
      learned[i] = static_cast<std::uint8_t>(stepped(simple, taken, 3) | stepped(correlated, taken, 3) << 2 |
                                             rechosen << 4 | (predicted != taken ? kWrong : 0));
    }
    return learned;
  }();

  std::vector<std::uint8_t> by_address_, by_outcomes_;
  std::uint32_t mask_;
  std::uint64_t outcomes_ = 0;
  std::uint64_t history_mask_;
  int index_bits_;
};

}  // namespace zs::uarch
