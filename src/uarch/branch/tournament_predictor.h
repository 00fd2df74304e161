// Conditional branches predicted by two tables of 2-bit counters, one by address, one by address and the last outcomes, and
// a third that says which of the two has been right here. Westmere's predictor is modelled by it, and the depth `fast` of
// every core.
// Left out: local histories; the loop detector of Intel's Core generation.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/path_history.h"
#include "uarch/branch/saturating.h"

namespace zs::uarch {

class TournamentPredictor {
 public:
  explicit TournamentPredictor(const BranchParameters& p)
      : by_address_(p.base_entries, 1),
        by_outcomes_(p.outcome_entries, 1),
        chooser_(p.outcome_entries, 1),
        history_mask_((std::uint64_t{1} << p.outcome_history) - 1),
        index_bits_(std::countr_zero(p.outcome_entries)) {}

  /// Predicts the branch at `pc` and learns its outcome.
  /// returns whether the prediction was wrong
  bool predict_and_update(std::uint64_t pc, bool taken) {
    const std::uint32_t address = address_hash(pc);
    // A history longer than the index is folded onto it.
    const std::uint64_t folded = outcomes_ ^ outcomes_ >> index_bits_;
    std::uint8_t& simple = by_address_[address & (by_address_.size() - 1)];
    std::uint8_t& correlated = by_outcomes_[(address ^ folded) & (by_outcomes_.size() - 1)];
    std::uint8_t& chooser = chooser_[address & (chooser_.size() - 1)];
    const bool simple_taken = predicts_taken(simple);
    const bool correlated_taken = predicts_taken(correlated);
    const bool trusts_outcomes = predicts_taken(chooser);
    const bool predicted = (trusts_outcomes & correlated_taken) | (!trusts_outcomes & simple_taken);
    const std::uint8_t rechosen = static_cast<std::uint8_t>(stepped(chooser, correlated_taken == taken, 3));
    chooser = simple_taken != correlated_taken ? rechosen : chooser;
    simple = static_cast<std::uint8_t>(stepped(simple, taken, 3));
    correlated = static_cast<std::uint8_t>(stepped(correlated, taken, 3));
    outcomes_ = (outcomes_ << 1 | (taken ? 1 : 0)) & history_mask_;
    return predicted != taken;
  }

 private:
  std::vector<std::uint8_t> by_address_, by_outcomes_, chooser_;
  std::uint64_t outcomes_ = 0;
  std::uint64_t history_mask_;
  int index_bits_;
};

}  // namespace zs::uarch
