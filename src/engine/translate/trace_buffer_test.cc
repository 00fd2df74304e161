#include "engine/translate/trace_buffer.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>

#include "engine/translate/code_cache.h"
#include "engine/translate/reserved_addresses.h"

namespace zs::engine {
namespace {

class TraceBufferTest : public testing::Test {
 protected:
  static volatile std::uint32_t& word(std::uint64_t at) { return *reinterpret_cast<volatile std::uint32_t*>(at); }
  /// For a test that dies of it: of the signal itself, which a sanitizer would answer with a report of its own.
  static void write_unhandled(std::uint64_t at) {
    std::signal(SIGSEGV, SIG_DFL);
    word(at) = 1;
  }

  const ReservedAddresses reserved_;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  CodeCache cache_{ReservedAddresses::kBase, ReservedAddresses::kCodeBytes, untouched_};
  TraceBuffer& trace_ = cache_.trace();
};

TEST_F(TraceBufferTest, TheBudgetViewGrowsBackwardsFromItsGuardUpToItsBound) {
  trace_.use_budget_view();
  const std::uint64_t end = trace_.end();
  std::uint64_t bytes = trace_.room();
  EXPECT_EQ(bytes, TraceBuffer::kFirstViewBytes);
  while (bytes < TraceBuffer::kMostBytes) {
    trace_.grow_budget_view();
    EXPECT_EQ(trace_.room(), 2 * bytes);
    bytes = trace_.room();
  }
  trace_.grow_budget_view();
  EXPECT_EQ(trace_.room(), TraceBuffer::kMostBytes);
  EXPECT_EQ(trace_.end(), end);
}

TEST_F(TraceBufferTest, AllPagesOfAGrownBudgetViewAreViewsOfOneAndTheTablesBeforeItAreNot) {
  trace_.use_budget_view();
  for (int i = 0; i < 3; ++i) trace_.grow_budget_view();
  const std::uint64_t last_before = cache_.layout().hashed_tables + HashedTables::kBytes - 4;
  word(last_before) = 7;
  word(trace_.begin()) = 42;
  for (std::uint64_t at = trace_.begin(); at < trace_.end(); at += 16 << 10) ASSERT_EQ(word(at), 42u) << at;
  EXPECT_EQ(word(last_before), 7u);
}

TEST_F(TraceBufferTest, AForkedChildsBudgetViewIsSmallAgainAndItsOwn) {
  trace_.use_budget_view();
  trace_.grow_budget_view();
  word(trace_.begin()) = 42;
  trace_.after_fork();
  EXPECT_EQ(trace_.room(), TraceBuffer::kFirstViewBytes);
  EXPECT_EQ(word(trace_.begin()), 0u);
  trace_.grow_budget_view();
  EXPECT_EQ(word(trace_.begin()), 0u);
}

TEST_F(TraceBufferTest, AForkedChildKeepsATraceThatIsNoView) {
  word(trace_.begin()) = 42;
  trace_.after_fork();
  EXPECT_EQ(word(trace_.begin()), 42u);
}

TEST_F(TraceBufferTest, ATrippedViewOfAnyLengthFaults) {
  trace_.use_budget_view();
  trace_.grow_budget_view();
  trace_.trip();
  EXPECT_EXIT(write_unhandled(trace_.begin()), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(write_unhandled(trace_.end() - 4), testing::KilledBySignal(SIGSEGV), "");
  trace_.untrip();
  word(trace_.begin()) = 1;
  word(trace_.end() - 4) = 1;
  EXPECT_EXIT(write_unhandled(trace_.end()), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(TraceBufferTest, FaultsOfItAreThoseInTheTraceAndInItsGuard) {
  EXPECT_FALSE(trace_.faults_at(trace_.begin() - 1));
  EXPECT_TRUE(trace_.faults_at(trace_.begin()));
  EXPECT_TRUE(trace_.faults_at(trace_.end() + TraceBuffer::kGuardBytes - 1));
  EXPECT_FALSE(trace_.faults_at(trace_.end() + TraceBuffer::kGuardBytes));
}

TEST_F(TraceBufferTest, AWordOfTheTraceHasASlotOfEightBytes) {
  const auto first = reinterpret_cast<std::uint64_t>(trace_.slots());
  EXPECT_EQ(2 * trace_.begin() + trace_.slots_bias(), first);
  EXPECT_EQ(trace_.slot_number_at(trace_.begin()), 0u);
  EXPECT_EQ(trace_.slot_number_at(trace_.begin() + 4), 1u);
  EXPECT_LE(first + 8 * trace_.slot_number_at(trace_.end()), trace_.notes_begin());
}

TEST_F(TraceBufferTest, APointerThatSaysWhetherABrakeIsDueIsNegativeBeforeIt) {
  EXPECT_EQ(trace_.pointer_bias(), 0u);
  trace_.bias_pointer();
  EXPECT_LT(static_cast<std::int64_t>(trace_.begin() - trace_.pointer_bias()), 0);
  EXPECT_EQ(trace_.end() - trace_.pointer_bias(), TraceBuffer::kBrakeBudget);
}

}  // namespace
}  // namespace zs::engine
