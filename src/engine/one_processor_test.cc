#include "engine/one_processor.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/raw_syscall.h"
#include "engine/thread.h"

namespace zs::engine {
namespace {

std::int32_t own_id() { return static_cast<std::int32_t>(raw_syscall(SYS_gettid)); }

/// Processors, by number.
std::vector<int> allowed(std::int32_t tid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(tid, sizeof set, &set), 0);
  std::vector<int> found;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) found.push_back(processor);
  }
  return found;
}

void allow(std::int32_t tid, const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  ASSERT_EQ(sched_setaffinity(tid, sizeof set, &set), 0);
}

/// The test's own thread, on one processor, and another one that sleeps.
class OneProcessorTest : public testing::Test {
 protected:
  OneProcessorTest() {
    std::atomic<std::int32_t> tid = 0;
    sleeper_ = std::thread([&] {
      tid = own_id();
      tid.notify_one();
      end_.wait(false);
    });
    tid.wait(0);
    other_.id.tid = tid;
    self_.id.tid = own_id();
    allow(own_id(), {all_.front()});
  }
  ~OneProcessorTest() override {
    end_ = true;
    end_.notify_one();
    sleeper_.join();
    allow(own_id(), all_);
  }

  const std::vector<int> all_ = allowed(own_id());
  const std::vector<int> here_ = {all_.front()};
  OneProcessor processor_;
  Thread self_, other_;

 private:
  std::thread sleeper_;
  std::atomic<bool> end_ = false;
};

TEST_F(OneProcessorTest, WhoFollowsRunsWhereTheOtherRan) {
  processor_.follow(self_, other_);
  EXPECT_EQ(allowed(other_.id.tid), here_);
  EXPECT_EQ(other_.held_to.processor, here_.front());
  processor_.let_go(other_);
  EXPECT_EQ(allowed(other_.id.tid), all_);
  EXPECT_EQ(other_.held_to.processor, -1);
}

TEST_F(OneProcessorTest, ItGoesOnFromTheOneThatIsHeld) {
  if (all_.size() < 2) GTEST_SKIP() << "one processor";
  self_.held_to.processor = all_.back();  // and not where it runs, as after a move that nobody told of
  processor_.follow(self_, other_);
  EXPECT_EQ(allowed(other_.id.tid), std::vector<int>{all_.back()});
  self_.held_to.processor = -1;
  processor_.follow(self_, other_);
  EXPECT_EQ(allowed(other_.id.tid), here_);
  processor_.let_go(other_);
  EXPECT_EQ(allowed(other_.id.tid), all_);
}

TEST_F(OneProcessorTest, NobodyIsHeldWhereItMayNotRun) {
  if (all_.size() < 2) GTEST_SKIP() << "one processor";
  allow(other_.id.tid, {all_.back()});
  processor_.follow(self_, other_);
  EXPECT_EQ(allowed(other_.id.tid), std::vector<int>{all_.back()});
  EXPECT_EQ(other_.held_to.processor, -1);
}

TEST_F(OneProcessorTest, WhatSomebodyElseHasChosenStays) {
  if (all_.size() < 2) GTEST_SKIP() << "one processor";
  processor_.follow(self_, other_);
  allow(other_.id.tid, {all_.back()});
  processor_.let_go(other_);
  EXPECT_EQ(allowed(other_.id.tid), std::vector<int>{all_.back()});
}

TEST_F(OneProcessorTest, NowAndThenTheKernelChooses) {
  int free = 0;
  constexpr int kTurns = 2000;
  for (int turn = 0; turn < kTurns; ++turn) {
    processor_.follow(self_, other_);
    free += other_.held_to.processor < 0 ? 1 : 0;
    EXPECT_EQ(allowed(other_.id.tid), other_.held_to.processor < 0 ? all_ : here_);
  }
  EXPECT_GT(free, 1);
  EXPECT_LT(free, kTurns / 100);
}

TEST_F(OneProcessorTest, StopsWhenAsked) {
  processor_.follow(self_, other_);
  processor_.stop();
  processor_.let_go(other_);
  processor_.follow(self_, other_);
  EXPECT_EQ(allowed(other_.id.tid), all_);
}

TEST_F(OneProcessorTest, AThreadThatHasNotBegunIsLeftAlone) {
  Thread unborn;
  processor_.follow(self_, unborn);
  EXPECT_EQ(unborn.held_to.processor, -1);
  EXPECT_EQ(allowed(own_id()), here_);
}

}  // namespace
}  // namespace zs::engine
