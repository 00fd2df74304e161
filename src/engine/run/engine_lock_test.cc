// The order in which threads of a program run follows from the program, not from when the kernel lets them ask.
#include "engine/run/engine_lock.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <list>
#include <memory>
#include <string>
#include <thread>

namespace zs::engine {
namespace {

class EngineLockTest : public testing::Test {
 protected:
  EngineLockTest() {
    alarm(60);  // who never gets a turn would wait for ever
    lock_.hold_nobody();
    lock_.acquire(self_);
  }
  ~EngineLockTest() override {
    for (std::thread& each : running_) each.join();
    alarm(0);
  }
  struct Ours : Thread {
    Ours() {
      process = std::make_shared<Process>();
      process->pid = getpid();
    }
  };
  /// A thread that waits for its turn, says its name, and gives the lock away.
  void run(Thread& thread, char name) {
    running_.emplace_back([this, &thread, name] {
      lock_.acquire(thread);
      order_ += name;
      lock_.release();
    });
  }
  /// Those that have run, when all have.
  std::string order() {
    for (std::thread& each : running_) each.join();
    running_.clear();
    return order_;
  }

  EngineLock lock_;
  Ours self_, a_, b_, c_;
  std::string order_;
  std::list<std::thread> running_;
};

TEST_F(EngineLockTest, PlacesAreTakenInTheOrderInWhichTheyWereGiven) {
  for (Ours* each : {&b_, &c_, &a_}) lock_.give_place(*each);
  run(a_, 'a');
  run(b_, 'b');
  run(c_, 'c');
  lock_.release();
  EXPECT_EQ(order(), "bca");
}

TEST_F(EngineLockTest, WhoHasAPlaceGetsNoOther) {
  for (Ours* each : {&b_, &a_, &b_}) lock_.give_place(*each);
  run(a_, 'a');
  run(b_, 'b');
  lock_.release();
  EXPECT_EQ(order(), "ba");
}

TEST_F(EngineLockTest, WhoTakesTurnsComesBackBehindThoseWhoWait) {
  for (Ours* each : {&a_, &b_}) lock_.give_place(*each);
  run(b_, 'b');
  run(a_, 'a');
  lock_.take_turns(self_);
  lock_.acquire(self_);
  order_ += 'm';
  lock_.release();
  EXPECT_EQ(order(), "abm");
}

TEST_F(EngineLockTest, WhoIsChosenIsNextAndTheOthersKeepTheirOrder) {
  for (Ours* each : {&a_, &b_, &c_}) lock_.give_place(*each);
  run(a_, 'a');
  run(b_, 'b');
  run(c_, 'c');
  lock_.take_turns(self_, &c_);
  lock_.acquire(self_);
  order_ += 'm';
  lock_.release();
  EXPECT_EQ(order(), "cabm");
}

TEST_F(EngineLockTest, WhoIsStoppedByItsTracerIsPassedOver) {
  a_.traced.stopped = true;
  for (Ours* each : {&a_, &b_}) lock_.give_place(*each);
  run(b_, 'b');
  lock_.take_turns(self_);
  lock_.acquire(self_);
  order_ += 'm';
  a_.traced.stopped = false;
  run(a_, 'a');
  lock_.release();
  EXPECT_EQ(order(), "bma");
}

TEST_F(EngineLockTest, WhoHasLeftThisMemoryIsNotWaitedFor) {
  for (Ours* each : {&a_, &b_, &c_}) lock_.give_place(*each);
  lock_.abandon(a_);
  lock_.abandon(c_);
  lock_.give_place(self_);
  EXPECT_TRUE(lock_.contended());
  run(b_, 'b');
  lock_.release_and_wait(self_);
  lock_.acquire(self_);
  order_ += 'm';
  EXPECT_FALSE(lock_.contended());
  lock_.release();
  EXPECT_EQ(order(), "bm");
}

TEST_F(EngineLockTest, ItsHolderLeavesItToTheNextWhereItIsGone) {
  lock_.give_place(a_);
  run(a_, 'a');
  lock_.abandon(self_);
  EXPECT_EQ(order(), "a");
}

TEST_F(EngineLockTest, TheLowestOfThoseWhoWaitIsTheFirstOfEquals) {
  a_.core_time = 5;
  b_.core_time = c_.core_time = 3;
  const auto key = [](const Thread& thread) { return thread.core_time; };
  EXPECT_EQ(lock_.lowest(key), nullptr);
  for (Ours* each : {&a_, &b_, &c_}) lock_.give_place(*each);
  EXPECT_EQ(lock_.lowest(key), &b_);
  for (Ours* each : {&a_, &b_, &c_}) lock_.abandon(*each);
}

TEST_F(EngineLockTest, TranslatedCodeSeesWhetherSomebodyWaits) {
  EXPECT_EQ(*lock_.first_waiting(), 0U);
  lock_.give_place(a_);
  EXPECT_NE(*lock_.first_waiting(), 0U);
  lock_.reset(self_);
  EXPECT_EQ(*lock_.first_waiting(), 0U);
}

}  // namespace
}  // namespace zs::engine
