// Streams of branches to try predictors on, for tests and benchmarks: a made-up program with loops, correlated and
// random conditions, calls of any depth, and indirect jumps. The same seed gives the same stream.
#pragma once

#include <cstdint>
#include <vector>

#include "uarch/branch/branch_unit.h"
#include "uarch/chance.h"

namespace zs::uarch {

/// `count` branches. `noise`: percent of conditions and targets that are drawn instead of following a pattern.
inline std::vector<BranchFacts> branch_stream(std::uint64_t seed, std::size_t count, unsigned noise) {
  using arch::BranchKind;
  constexpr std::uint64_t code = 0x40'1000;
  constexpr std::uint64_t sites = 3000;
  Random random(seed);
  std::vector<BranchFacts> stream;
  stream.reserve(count);
  std::vector<std::uint64_t> stack;
  std::uint64_t outcomes = 0;
  std::uint64_t site = 0;
  const auto address = [](std::uint64_t number) { return code + number * 23; };
  for (std::size_t i = 0; i < count; ++i) {
    BranchFacts branch{.pc = address(site), .next = address(site) + 5, .taken = true};
    const bool drawn = random.below(100) < noise;
    const std::uint64_t choice = (site * 0x9E37'79B9 >> 7) % 16;
    if (choice < 10) {
      branch.kind = BranchKind::Conditional;
      // A pattern of the branches before it, a loop of seven, or nearly always the same way.
      const bool pattern = choice < 4 ? (outcomes >> (site % 9) & 1) != 0 : choice < 7 ? i % 7 != 0 : (site & 1) != 0;
      branch.taken = drawn ? random.below(2) == 0 : pattern;
      branch.target = address((site * 7 + 11) % sites);
    } else if (choice < 12 && stack.size() < 40) {
      branch.kind = choice == 10 ? BranchKind::RelativeCall : BranchKind::IndirectCall;
      branch.target = address((site * 5 + (choice == 11 ? outcomes % 3 : 1)) % sites);
      stack.push_back(branch.next);
    } else if (choice < 14 && !stack.empty()) {
      branch.kind = BranchKind::Return;
      branch.target = drawn ? address(random.below(sites)) : stack.back();
      stack.pop_back();
    } else if (choice == 14) {
      branch.kind = BranchKind::IndirectJump;
      branch.target = address((drawn ? random.next() : site * 3 + outcomes % 12) % sites);
    } else {
      branch.kind = site % 64 == 0 ? BranchKind::Far : BranchKind::RelativeJump;
      branch.target = address((site * 3 + 1) % sites);
    }
    if (branch.kind == BranchKind::Conditional) outcomes = outcomes << 1 | (branch.taken ? 1 : 0);
    site = branch.taken ? (branch.target - code) / 23 % sites : (site + 1) % sites;
    if (i % 97 == 0) site = random.below(sites);
    stream.push_back(branch);
  }
  return stream;
}

}  // namespace zs::uarch
