// The branch prediction of one modelled core. It is told every retired branch in program order and says what the core's
// predictors would have made of it.
// Left out: the wrong path, which never reaches the predictors here and disturbs them on hardware; hyper-threads, that
// share them; what a system call or an interrupt does to them.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/retired.h"
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

  BranchOutcome predict_and_update(const BranchFacts& branch);

 private:
  bool conditional_is_wrong(const BranchFacts& branch);

  PathHistory path_;
  PathHashes hashes_;
  std::optional<PathPredictor> by_path_;  // one of the two
  std::optional<TournamentPredictor> tournament_;
  IndirectPredictor indirect_;
  ReturnStack returns_;
  BranchTargetBuffer targets_;
};

}  // namespace zs::uarch
