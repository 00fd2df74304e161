#include "engine/code_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdint>

namespace zs::engine {
namespace {

constexpr std::size_t kCodeBytes = 1 << 20;

/// Where the engine has it; the room that the trace may grow into is reserved, as the program's address space is.
class WindowTest : public testing::Test {
 protected:
  WindowTest() {
    void* const at = mmap(reinterpret_cast<void*>(kBase), Window::bytes_needed(kCodeBytes), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(at, reinterpret_cast<void*>(kBase));
  }
  ~WindowTest() override { munmap(reinterpret_cast<void*>(kBase), Window::bytes_needed(kCodeBytes)); }
  WindowTest(const WindowTest&) = delete;
  WindowTest& operator=(const WindowTest&) = delete;

  static std::uint64_t bytes_of_trace(const Window& window) { return window.trace_end() - window.trace_begin(); }
  static volatile std::uint32_t& word(std::uint64_t at) { return *reinterpret_cast<volatile std::uint32_t*>(at); }
  /// For a test that dies of it: of the signal itself, which a sanitizer would answer with a report of its own.
  static void write_unhandled(std::uint64_t at) {
    std::signal(SIGSEGV, SIG_DFL);
    word(at) = 1;
  }

  static constexpr std::uint64_t kBase = 0x6000'0000;
};

TEST_F(WindowTest, TheBudgetViewGrowsBackwardsFromItsGuardUpToItsBound) {
  Window window(kBase, kCodeBytes);
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
  Window window(kBase, kCodeBytes);
  window.use_budget_view();
  for (int i = 0; i < 3; ++i) window.grow_budget_view();
  window.near_table()[Window::kTableEntries - 1] = 7;
  word(window.trace_begin()) = 42;
  for (std::uint64_t at = window.trace_begin(); at < window.trace_end(); at += 16 << 10) ASSERT_EQ(word(at), 42u) << at;
  EXPECT_EQ(window.near_table()[Window::kTableEntries - 1], 7u);
}

TEST_F(WindowTest, AForkedChildsBudgetViewIsSmallAgainAndItsOwn) {
  Window window(kBase, kCodeBytes);
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
  Window window(kBase, kCodeBytes);
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

}  // namespace
}  // namespace zs::engine
