#include "uarch/branch/branch_unit.h"

#include <algorithm>

#include "base/check.h"

namespace zs::uarch {
namespace {

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
  if (by_path_) hashes_.update(path_);
}

}  // namespace zs::uarch
