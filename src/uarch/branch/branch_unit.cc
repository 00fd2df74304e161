#include "uarch/branch/branch_unit.h"

#include <algorithm>

#include "base/check.h"

namespace zs::uarch {
namespace {

using arch::BranchKind;

unsigned longest_history(const BranchParameters& p) {
  return std::max<unsigned>(*std::ranges::max_element(p.indirect_histories), *std::ranges::max_element(p.histories));
}

constexpr std::array<std::uint16_t, kMaxTaggedTables> conditional_histories(const BranchParameters& p) {
  return p.conditional == ConditionalKind::PathHistory ? p.histories : std::array<std::uint16_t, kMaxTaggedTables>{};
}

}  // namespace

BranchUnit::BranchUnit(const BranchParameters& parameters)
    : path_(longest_history(parameters)),
      hashes_(parameters.indirect_histories, conditional_histories(parameters)),
      indirect_(parameters, hashes_),
      returns_(parameters.return_stack),
      targets_(parameters) {
  CHECK(inconsistency(parameters) == nullptr);
  if (parameters.conditional == ConditionalKind::PathHistory) {
    by_path_.emplace(parameters, hashes_);
  } else {
    tournament_.emplace(parameters);
  }
}

bool BranchUnit::conditional_is_wrong(const BranchFacts& branch) {
  if (by_path_) {
    hashes_.update(path_);
    return by_path_->predict_and_update(branch.pc, hashes_, branch.taken);
  }
  return tournament_->predict_and_update(branch.pc, branch.taken);
}

BranchOutcome BranchUnit::predict_and_update(const BranchFacts& branch) {
  BranchOutcome outcome;
  switch (branch.kind) {
    case BranchKind::Conditional: outcome.mispredicted = conditional_is_wrong(branch); break;
    case BranchKind::RelativeJump:
    case BranchKind::RelativeCall: break;
    case BranchKind::IndirectJump:
    case BranchKind::IndirectCall:
      hashes_.update(path_);
      outcome.mispredicted = indirect_.predict_and_update(branch.pc, hashes_, branch.target);
      break;
    case BranchKind::Return: outcome.mispredicted = returns_.pop() != branch.target; break;
    case BranchKind::Far: return {};  // never predicted: the pipeline drains
    case BranchKind::None: CHECK(branch.kind != BranchKind::None, branch.pc);
  }
  if (!branch.taken) return outcome;
  const bool call = branch.kind == BranchKind::RelativeCall || branch.kind == BranchKind::IndirectCall;
  // A call to the next instruction fetches its own address and is never returned from.
  if (call && branch.target != branch.next) returns_.push(branch.next);
  outcome.btb_miss = !targets_.touch(branch.pc) && !outcome.mispredicted;
  path_.taken(branch.pc, branch.target);
  hashes_.outdate();
  return outcome;
}

}  // namespace zs::uarch
