// What is left in the mutexes of a thread that ends as another id than the kernel's.
#include "engine/kernel/threads/robust_list.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// As a C library lays them out: a list of mutexes, each with its word behind the link.
class RobustListTest : public RunTest {
 protected:
  struct Mutex {
    std::uint64_t next = 0;
    std::uint32_t word = 0;
  };
  struct Head {
    std::uint64_t first;
    std::int64_t offset;
    std::uint64_t pending;
  };
  static constexpr std::uint32_t kMine = kVirtualPid, kOthers = kVirtualPid + 1;
  static constexpr std::uint64_t kInheritsPriority = 1;

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    const auto pid = getpid();
    Thread& thread = *run_.thread;
    thread.process->pid = thread.id.pid = thread.id.tid = pid;
    run_.ids.begin(pid, 0);
    ASSERT_EQ(raw_syscall(SYS_get_robust_list, 0, &before_, &before_length_), 0);
    ASSERT_EQ(raw_syscall(SYS_set_robust_list, &head_, sizeof head_), 0);
    for (Mutex& mutex : mutexes_) mutex.word = kMine;
  }
  void TearDown() override { raw_syscall(SYS_set_robust_list, before_, before_length_); }

  static std::uint64_t at(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
  /// The first so many are in the list.
  void link(std::size_t count) {
    head_.first = count == 0 ? at(&head_) : at(&mutexes_[0]);
    for (std::size_t i = 0; i < count; ++i) mutexes_[i].next = i + 1 == count ? at(&head_) : at(&mutexes_[i + 1]);
  }
  void leave() { leave_robust_list(run_, run_, *run_.thread); }

  Mutex mutexes_[4];
  Head head_{.first = at(&head_), .offset = offsetof(Mutex, word), .pending = 0};

 private:
  std::uint64_t before_ = 0;
  std::size_t before_length_ = 0;
};

TEST_F(RobustListTest, EachWordSaysThatItsOwnerDiedAndWhetherSomebodyWaits) {
  link(3);
  mutexes_[1].word |= FUTEX_WAITERS;
  leave();
  EXPECT_EQ(mutexes_[0].word, FUTEX_OWNER_DIED);
  EXPECT_EQ(mutexes_[1].word, FUTEX_OWNER_DIED | FUTEX_WAITERS);
  EXPECT_EQ(mutexes_[2].word, FUTEX_OWNER_DIED);
  EXPECT_EQ(mutexes_[3].word, kMine) << "not in the list";
}

TEST_F(RobustListTest, WordsOfOtherOwnersStayAsTheyAre) {
  link(3);
  mutexes_[0].word = kOthers;
  mutexes_[1].word = 0;
  leave();
  EXPECT_EQ(mutexes_[0].word, kOthers);
  EXPECT_EQ(mutexes_[1].word, 0U);
  EXPECT_EQ(mutexes_[2].word, FUTEX_OWNER_DIED);
}

TEST_F(RobustListTest, TheOneThatIsJustBeingTakenIsLeftTooInTheListOrNot) {
  link(2);
  head_.pending = at(&mutexes_[3]);
  leave();
  EXPECT_EQ(mutexes_[3].word, FUTEX_OWNER_DIED);
  for (Mutex& mutex : mutexes_) mutex.word = kMine;
  head_.pending = at(&mutexes_[0]);
  leave();
  EXPECT_EQ(mutexes_[0].word, FUTEX_OWNER_DIED);
  EXPECT_EQ(mutexes_[1].word, FUTEX_OWNER_DIED);
}

TEST_F(RobustListTest, TheMarkOfPriorityInheritanceIsNoPartOfTheAddress) {
  link(3);
  head_.first |= kInheritsPriority;
  mutexes_[1].next |= kInheritsPriority;
  leave();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(mutexes_[i].word, FUTEX_OWNER_DIED) << i;
}

TEST_F(RobustListTest, AListThatGoesRoundOrLeadsNowhereEnds) {
  link(2);
  mutexes_[1].next = at(&mutexes_[0]);
  leave();
  EXPECT_EQ(mutexes_[1].word, FUTEX_OWNER_DIED);
  for (Mutex& mutex : mutexes_) mutex.word = kMine;
  mutexes_[0].next = 8;
  leave();
  EXPECT_EQ(mutexes_[0].word, FUTEX_OWNER_DIED);
  EXPECT_EQ(mutexes_[1].word, kMine);
}

TEST_F(RobustListTest, AThreadThatIsShownTheKernelsIdIsLeftToTheKernel) {
  link(1);
  run_.ids.begin(0, 0);
  mutexes_[0].word = static_cast<std::uint32_t>(getpid());
  leave();
  EXPECT_EQ(mutexes_[0].word, static_cast<std::uint32_t>(getpid()));
}

}  // namespace
}  // namespace zs::engine
