#include "engine/kernel/threads/futex_waiters.h"

#include <gmock/gmock.h>

#include "engine/thread.h"

namespace zs::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr FutexWaiters::Key kHere{.address = 0x1000}, kThere{.address = 0x2000};
constexpr std::uint32_t kAny = ~0U;

struct Queue {
  Thread first, second, third;
  FutexWaiters waiters;
  std::vector<const Thread*> woken;
  std::uint32_t wake(FutexWaiters::Key key, std::uint32_t most, std::uint32_t bits = kAny) {
    woken.clear();
    return waiters.wake(key, most, bits, [this](const Thread& thread) { woken.push_back(&thread); });
  }
};

TEST(FutexWaiters, WakesThoseWhoCameFirst) {
  Queue q;
  q.waiters.add(q.second, kHere, kAny);
  q.waiters.add(q.first, kHere, kAny);
  q.waiters.add(q.third, kThere, kAny);
  EXPECT_EQ(q.wake(kHere, 1), 1U);
  EXPECT_THAT(q.woken, ElementsAre(&q.second));
  EXPECT_EQ(q.wake(kHere, 5), 1U);
  EXPECT_THAT(q.woken, ElementsAre(&q.first));
  EXPECT_EQ(q.wake({.address = kThere.address, .shared = true}, 5), 0U);
  EXPECT_EQ(q.wake(kThere, 0), 0U);
  EXPECT_EQ(q.wake(kThere, 5), 1U);
}

TEST(FutexWaiters, EndTheirWaitsWhenTheirTimeIsOver) {
  Queue q;
  q.waiters.add(q.first, kHere, kAny, 10);
  q.waiters.add(q.second, kHere, kAny);
  q.waiters.add(q.third, kThere, kAny, 5);
  std::vector<const Thread*> expired;
  const auto note = [&](const Thread& thread) { expired.push_back(&thread); };
  q.waiters.expire(4, note);
  EXPECT_THAT(expired, IsEmpty());
  q.waiters.expire(10, note);
  EXPECT_THAT(expired, ElementsAre(&q.first, &q.third));
  EXPECT_TRUE(q.waiters.take_expired(q.first));
  EXPECT_FALSE(q.waiters.take_expired(q.first));
  EXPECT_FALSE(q.waiters.take_expired(q.second));
  EXPECT_FALSE(q.waiters.remove(q.third));
  EXPECT_EQ(q.wake(kHere, 5), 1U);
}

TEST(FutexWaiters, PassesOverThoseWhoWaitForOtherBits) {
  Queue q;
  q.waiters.add(q.first, kHere, 1);
  q.waiters.add(q.second, kHere, 6);
  EXPECT_EQ(q.wake(kHere, 1, 2), 1U);
  EXPECT_THAT(q.woken, ElementsAre(&q.second));
}

TEST(FutexWaiters, MovesTheOldestBehindThoseWhoWaitThere) {
  Queue q;
  q.waiters.add(q.first, kHere, kAny);
  q.waiters.add(q.second, kHere, kAny);
  q.waiters.add(q.third, kThere, kAny);
  EXPECT_EQ(q.waiters.move(kHere, kThere, 1), 1U);
  EXPECT_EQ(q.wake(kThere, 5), 2U);
  EXPECT_THAT(q.woken, ElementsAre(&q.third, &q.first));
  EXPECT_EQ(q.waiters.move(kHere, kHere, 5), 1U);
  EXPECT_EQ(q.wake(kHere, 5), 1U);
}

TEST(FutexWaiters, OneWhoWasWokenWaitsNoMore) {
  Queue q;
  q.waiters.add(q.first, kHere, kAny);
  EXPECT_TRUE(q.waiters.remove(q.first));
  EXPECT_FALSE(q.waiters.remove(q.first));
  q.wake(kHere, 5);
  EXPECT_THAT(q.woken, IsEmpty());
}

TEST(FutexWaiters, OneWhoWaitsForSeveralWordsKnowsAtWhichNobodyWokeIt) {
  Queue q;
  q.waiters.add(q.first, kHere, kAny, FutexWaiters::kForEver, 0);
  q.waiters.add(q.first, kThere, kAny, FutexWaiters::kForEver, 2);
  q.waiters.add(q.second, kHere, kAny);
  EXPECT_EQ(q.wake(kThere, 5), 1U);
  EXPECT_THAT(q.waiters.take(q.first), ElementsAre(0U));
  EXPECT_THAT(q.waiters.take(q.first), IsEmpty());
  EXPECT_EQ(q.wake(kHere, 5), 1U) << "the other one's wait is its own";
}

}  // namespace
}  // namespace zs::engine
