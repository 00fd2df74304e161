// The branch prediction of one modelled core. It is told every retired branch in program order and says what the core's
// predictors would have made of it.
// Left out: the wrong path, which never reaches the predictors here and disturbs them on hardware; hyper-threads, that
// share them; what a system call or an interrupt does to them.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/retired.h"
#include "base/check.h"
#include "uarch/branch/branch_parameters.h"
#include "uarch/branch/branch_target_buffer.h"
#include "uarch/branch/indirect_predictor.h"
#include "uarch/branch/path_history.h"
#include "uarch/branch/path_predictor.h"
#include "uarch/branch/return_stack.h"
#include "uarch/branch/tournament_predictor.h"

namespace zs::uarch {

/// One retired branch. Addresses are linear.
struct BranchFacts {
  std::uint64_t pc = 0;
  std::uint64_t next = 0;    // of the instruction behind it: where a call returns to
  std::uint64_t target = 0;  // where it went, if it was taken
  arch::BranchKind kind = arch::BranchKind::None;
  bool taken = false;
};

struct BranchOutcome {
  bool mispredicted = false;
  bool btb_miss = false;  // predicted right, but only once it was decoded: a resteer of the front end

  friend bool operator==(const BranchOutcome&, const BranchOutcome&) = default;
};

class BranchUnit {
 public:
  explicit BranchUnit(const BranchParameters& parameters);

  BranchOutcome predict_and_update(const BranchFacts& branch) {
    return predict_and_update(branch, address_hash(branch.pc), path_footprint(branch.pc, branch.target));
  }
  /// For who knows them already: address_hash(branch.pc), and path_footprint() of the branch if it is taken.
  BranchOutcome predict_and_update(const BranchFacts& branch, std::uint32_t address, std::uint16_t footprint) {
    using enum arch::BranchKind;
    bool wrong = false;
    switch (branch.kind) {
      case Conditional: return predict_conditional(branch.pc, address, footprint, branch.taken);
      case RelativeJump: break;
      case RelativeCall: call(branch); break;
      case IndirectCall: call(branch); [[fallthrough]];
      case IndirectJump: wrong = predict_target(address, branch.target); break;
      case Return: wrong = returns_.pop() != branch.target; break;
      case Far: return {};  // never predicted: the pipeline drains
      case None: CHECK(branch.kind != None, branch.pc);
    }
    return {.mispredicted = wrong, .btb_miss = take(branch.pc, footprint) && !wrong};
  }
  /// A conditional branch; likewise.
  [[gnu::always_inline]] BranchOutcome predict_conditional(std::uint64_t pc, std::uint32_t address,
                                                           std::uint16_t footprint, bool taken) {
    const bool wrong = predict_direction(address, footprint, taken);
    return {.mispredicted = wrong, .btb_miss = taken && !targets_.touch(pc) && !wrong};
  }

  /// The part of a conditional branch that the BTB has none in. Returns whether it is mispredicted.
  [[gnu::always_inline]] bool predict_direction(std::uint32_t address, std::uint16_t footprint, bool taken) {
    const bool wrong = by_path_ ? by_path_->predict_and_update(address, hashes_, taken)
                                : tournament_->predict_and_update(address, taken);
    if (taken) pass_taken(footprint);
    return wrong;
  }
  /// That of a taken branch.
  [[gnu::always_inline]] void pass_taken(std::uint16_t footprint) {
    if (by_path_) {
      follow(footprint);
    } else {
      waiting_.add(footprint);
    }
  }

  // For code that does inline what is done here.
  BranchTargetBuffer& targets() { return targets_; }
  ReturnStack& returns() { return returns_; }

 private:
  /// Returns whether the BTB did not know the branch.
  [[gnu::always_inline]] bool take(std::uint64_t pc, std::uint16_t footprint) {
    pass_taken(footprint);
    return !targets_.touch(pc);
  }
  bool predict_target(std::uint32_t address, std::uint64_t target) {
    if (!waiting_.empty()) {
      waiting_.flush(path_);
      hashes_.update(path_);
    }
    return indirect_.predict_and_update(address, hashes_, target);
  }
  [[gnu::noinline]] void follow(std::uint16_t footprint) {
    path_.taken(footprint);
    hashes_.update(path_);
  }
  /// A call to the next instruction fetches its own address and is never returned from.
  void call(const BranchFacts& branch) {
    if (branch.target != branch.next) returns_.push(branch.next);
  }
  PathHistory path_;
  PathHashes hashes_;
  WaitingFootprints waiting_;             // where only indirect branches ask
  std::optional<PathPredictor> by_path_;  // one of the two
  std::optional<TournamentPredictor> tournament_;
  IndirectPredictor indirect_;
  ReturnStack returns_;
  BranchTargetBuffer targets_;
};

}  // namespace zs::uarch
