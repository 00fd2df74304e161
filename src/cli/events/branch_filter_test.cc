#include "cli/events/branch_filter.h"

#include <gtest/gtest.h>

#include "arch/msrs.h"
#include "profile/perf_data/perf_data.h"

namespace zs::cli {
namespace {

using Lbr = arch::LbrSelect;
namespace bits = profile::perf::branch_filter;

TEST(BranchFilter, AnyKeepsEveryNearBranchOfTheProgram) {
  const auto filter = parse_branch_filter("any,u");
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->lbr_select, Lbr::to_kernel.mask | Lbr::far_branch.mask);
  EXPECT_EQ(filter->perf, std::uint64_t{bits::any} | std::uint64_t{bits::user});
}

TEST(BranchFilter, WithoutAKindItIsAny) { EXPECT_EQ(parse_branch_filter("u")->perf, parse_branch_filter("any")->perf); }

TEST(BranchFilter, KindsAddUp) {
  const auto filter = parse_branch_filter("any_call,any_ret");
  ASSERT_TRUE(filter);
  const Lbr select{filter->lbr_select};
  EXPECT_FALSE(select.has(Lbr::relative_call) || select.has(Lbr::indirect_call) || select.has(Lbr::near_return));
  EXPECT_TRUE(select.has(Lbr::conditional) && select.has(Lbr::relative_jump) && select.has(Lbr::indirect_jump));
}

TEST(BranchFilter, TheKernelsSideIsRefusedByName) {
  const auto filter = parse_branch_filter("any,k");
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().message, "-j k: only branches of the program are seen, never the kernel's");
}

TEST(BranchFilter, AnUnknownNameIsToldWithTheKnownOnes) {
  const auto filter = parse_branch_filter("any,foo");
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().message, "-j foo: no such branch filter");
  EXPECT_EQ(filter.error().hint, "filters: any, any_call, any_ret, call, cond, ind_call, ind_jmp, u");
}

TEST(BranchFilter, CallStackModeKeepsCallsAndReturnsOnly) {
  const Lbr select{call_stack_select()};
  EXPECT_TRUE(select.has(Lbr::call_stack));
  EXPECT_FALSE(select.has(Lbr::relative_call) || select.has(Lbr::indirect_call) || select.has(Lbr::near_return));
  EXPECT_TRUE(select.has(Lbr::conditional) && select.has(Lbr::relative_jump) && select.has(Lbr::indirect_jump) &&
              select.has(Lbr::far_branch));
}

}  // namespace
}  // namespace zs::cli
