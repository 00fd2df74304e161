#include "session/recording/branch_trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/records/bts.h"
#include "pmu/fakes.h"

namespace zs::session {
namespace {

struct Traced {
  std::vector<std::vector<arch::BtsRecord>> pieces;
  pmu::SteppingClock clock;
  BranchTrace trace{*arch::find_cpu_model(arch::kDefaultCpuModel), clock, [this](std::span<const std::byte> records) {
                      auto& piece = pieces.emplace_back(records.size() / sizeof(arch::BtsRecord));
                      std::memcpy(piece.data(), records.data(), records.size());
                    }};
};

arch::TakenBranch branch(std::uint64_t n) {
  return {.from = 0x401000 + n, .to = 0x402000 + n, .kind = arch::BranchKind::Conditional};
}

TEST(BranchTrace, EveryBranchComesOnceAndInItsOrder) {
  Traced traced;
  constexpr std::uint64_t kBranches = 3 * kBranchesPerInterrupt + 5;
  EXPECT_TRUE(traced.trace.pmu().wants_branches());
  for (std::uint64_t n = 0; n < kBranches; ++n) traced.trace.pmu().enter_branch(branch(n));
  ASSERT_EQ(traced.pieces.size(), 3U);
  traced.trace.drain();
  ASSERT_EQ(traced.pieces.size(), 4U);
  EXPECT_EQ(traced.pieces.back().size(), 5U);
  std::uint64_t n = 0;
  for (const auto& piece : traced.pieces) {
    for (const arch::BtsRecord& record : piece) {
      EXPECT_EQ(record.from, 0x401000 + n);
      EXPECT_EQ(record.to, 0x402000 + n);
      ++n;
    }
  }
  EXPECT_EQ(n, kBranches);
}

TEST(BranchTrace, AnEmptyBufferIsHandedToNobody) {
  Traced traced;
  traced.trace.drain();
  EXPECT_TRUE(traced.pieces.empty());
}

TEST(BranchTrace, WhatEndsInTheKernelIsNotTraced) {
  Traced traced;
  arch::TakenBranch call = branch(0);
  call.cpl_to = 0;
  traced.trace.pmu().enter_branch(call);
  traced.trace.drain();
  EXPECT_TRUE(traced.pieces.empty());
}

TEST(BranchTrace, AnAmdProcessorHasNone) {
  EXPECT_FALSE(has_branch_trace(*arch::find_cpu_model("zen4@1")));
  EXPECT_TRUE(has_branch_trace(*arch::find_cpu_model(arch::kDefaultCpuModel)));
}

}  // namespace
}  // namespace zs::session
