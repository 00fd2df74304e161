#include "engine/translate/code_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdint>

#include "engine/translate/reserved_window.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kBase = ReservedWindow::kBase;
constexpr std::size_t kCodeBytes = ReservedWindow::kCodeBytes;
constexpr int kFirstPrivateFd = ReservedWindow::kFirstPrivateFd;

class WindowTest : public testing::Test {
 protected:
  static std::uint64_t bytes_of_trace(const Window& window) { return window.trace_end() - window.trace_begin(); }
  static volatile std::uint32_t& word(std::uint64_t at) { return *reinterpret_cast<volatile std::uint32_t*>(at); }
  /// For a test that dies of it: of the signal itself, which a sanitizer would answer with a report of its own.
  static void write_unhandled(std::uint64_t at) {
    std::signal(SIGSEGV, SIG_DFL);
    word(at) = 1;
  }

  const ReservedWindow reserved_;
};

TEST_F(WindowTest, TheBudgetViewGrowsBackwardsFromItsGuardUpToItsBound) {
  Window window(kBase, kCodeBytes, kFirstPrivateFd);
  window.use_budget_view();
  const std::uint64_t end = window.trace_end();
  std::uint64_t bytes = bytes_of_trace(window);
  EXPECT_EQ(bytes, Window::kTraceBytes);
  while (bytes < Window::kMostBudget) {
    window.grow_budget_view();
    EXPECT_EQ(bytes_of_trace(window), 2 * bytes);
    bytes = bytes_of_trace(window);
  }
  window.grow_budget_view();
  EXPECT_EQ(bytes_of_trace(window), Window::kMostBudget);
  EXPECT_EQ(window.trace_end(), end);
}

TEST_F(WindowTest, AllPagesOfAGrownBudgetViewAreViewsOfOneAndTheTableBeforeItIsNot) {
  Window window(kBase, kCodeBytes, kFirstPrivateFd);
  window.use_budget_view();
  for (int i = 0; i < 3; ++i) window.grow_budget_view();
  window.near_table()[Window::kTableEntries - 1] = 7;
  word(window.trace_begin()) = 42;
  for (std::uint64_t at = window.trace_begin(); at < window.trace_end(); at += 16 << 10) ASSERT_EQ(word(at), 42u) << at;
  EXPECT_EQ(window.near_table()[Window::kTableEntries - 1], 7u);
}

TEST_F(WindowTest, AForkedChildsBudgetViewIsSmallAgainAndItsOwn) {
  Window window(kBase, kCodeBytes, kFirstPrivateFd);
  window.use_budget_view();
  window.grow_budget_view();
  word(window.trace_begin()) = 42;
  window.after_fork();
  EXPECT_EQ(bytes_of_trace(window), Window::kTraceBytes);
  EXPECT_EQ(word(window.trace_begin()), 0u);
  window.grow_budget_view();
  EXPECT_EQ(word(window.trace_begin()), 0u);
}

TEST_F(WindowTest, ATrippedViewOfAnyLengthFaults) {
  Window window(kBase, kCodeBytes, kFirstPrivateFd);
  window.use_budget_view();
  window.grow_budget_view();
  window.trip();
  EXPECT_EXIT(write_unhandled(window.trace_begin()), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(write_unhandled(window.trace_end() - 4), testing::KilledBySignal(SIGSEGV), "");
  window.untrip();
  word(window.trace_begin()) = 1;
  word(window.trace_end() - 4) = 1;
  EXPECT_EXIT(write_unhandled(window.trace_end()), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(WindowTest, ADirectTableSaysMissWhereAnEntryIsExpectedAndNothingWhereNobodyWas) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
#endif
  constexpr std::uint64_t kMiss = 0x6000'1234, kEntry = 0x6000'5678;
  constexpr std::uint64_t kFixed = 0x40'0000;  // of a program linked below the low window
  Window window(kBase, kCodeBytes, kFirstPrivateFd);
  const AddressRange fixed_part = window.map_direct_table({kFixed, kFixed + 10'000});
  ASSERT_FALSE(fixed_part.empty());
  const auto slot = [&](std::uint64_t pc) {
    return reinterpret_cast<volatile std::uint64_t*>(8 * pc + window.direct_bias());
  };
  const auto is_backed = [&](std::uint64_t pc) {
    unsigned char backed = 0;
    EXPECT_EQ(mincore(reinterpret_cast<void*>(reinterpret_cast<std::uint64_t>(slot(pc)) & ~std::uint64_t{4095}), 4096,
                      &backed),
              0);
    return (backed & 1) != 0;
  };
  for (const std::uint64_t pc : {kFixed + 700, Window::kDirectFirst, Window::kDirectEnd - 1}) {
    ASSERT_TRUE(window.direct_covers(pc));
    window.clear_direct(pc, kMiss);
    EXPECT_FALSE(is_backed(pc)) << std::hex << pc;
    window.expect_direct(pc, kMiss);
    EXPECT_EQ(*slot(pc), kMiss);
    EXPECT_EQ(*slot(pc & ~std::uint64_t{511}), kMiss);
    EXPECT_EQ(*slot(pc | 511), kMiss);
    window.set_direct(pc, kEntry, kMiss);
    window.expect_direct(pc ^ 1, kMiss);
    EXPECT_EQ(*slot(pc), kEntry);
    EXPECT_EQ(*slot(pc ^ 1), kMiss);
    window.clear_direct(pc, kMiss);
    EXPECT_EQ(*slot(pc), kMiss);
    window.forget_direct();
    EXPECT_EQ(*slot(pc), 0u);
    window.set_direct(pc, kEntry, kMiss);
    EXPECT_EQ(*slot(pc), kEntry);
    EXPECT_EQ(*slot(pc ^ 1), kMiss);
    window.forget_direct();
  }
  for (const AddressRange part : {fixed_part, AddressRange{8 * Window::kDirectFirst + window.direct_bias(),
                                                           8 * Window::kDirectEnd + window.direct_bias()}})
    munmap(reinterpret_cast<void*>(part.start), part.size());
}

TEST_F(WindowTest, EntriesThatNobodyTouchedAreMappedNotWrittenAndAllLeadToTheFirstStub) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's shadow lies where the table would";
#endif
  constexpr std::uint64_t kMiss = Window::direct_miss_at(kBase), kEntry = 0x6000'5678;
  Window window(kBase, kCodeBytes, kFirstPrivateFd);
  EXPECT_EQ(window.stubs_begin(), kMiss);
  window.near_table()[5] = kEntry;
  window.clear_table(window.near_table_address(), Window::hashed_miss_at(kBase));
  EXPECT_EQ(window.near_table()[5], Window::hashed_miss_at(kBase));
  EXPECT_EQ(window.near_table()[Window::kTableEntries - 1], Window::hashed_miss_at(kBase));
  const AddressRange fixed_part = window.map_direct_table({0x40'0000, 0x40'2000});
  const auto slot = [&](std::uint64_t pc) {
    return reinterpret_cast<volatile std::uint64_t*>(8 * pc + window.direct_bias());
  };
  for (const std::uint64_t pc : {std::uint64_t{0x40'0100}, Window::kDirectFirst, Window::kDirectEnd - 1}) {
    window.expect_direct(pc, kMiss);
    EXPECT_EQ(window.direct_bytes(), 0u);  // nothing was written
    EXPECT_EQ(*slot(pc), kMiss);
    EXPECT_EQ(*slot(pc ^ 0x200), kMiss);  // nor is it the page alone
    window.set_direct(pc, kEntry, kMiss);
    EXPECT_EQ(window.direct_bytes(), kPageSize);
    EXPECT_EQ(*slot(pc), kEntry);
    EXPECT_EQ(*slot(pc ^ 1), kMiss);
    window.forget_direct();
    EXPECT_EQ(*slot(pc), kMiss);
    EXPECT_EQ(window.direct_bytes(), 0u);
  }
  for (const AddressRange part : {fixed_part, AddressRange{8 * Window::kDirectFirst + window.direct_bias(),
                                                           8 * Window::kDirectEnd + window.direct_bias()}})
    munmap(reinterpret_cast<void*>(part.start), part.size());
}

}  // namespace
}  // namespace zs::engine
