// Which calls are answered from the vdso, and that the answers are the kernel's.
#include "engine/kernel/clock_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

class ClockCallsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kNowhere = 8;

  std::optional<long> answer(long number, std::uint64_t first, std::uint64_t second = 0) {
    return answer_from_vdso(run_, number, {static_cast<long>(first), static_cast<long>(second), 0, 0, 0, 0});
  }
  template <typename T>
  static std::uint64_t at(T& value) {
    return reinterpret_cast<std::uint64_t>(&value);
  }
  static std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }
  static std::int64_t kernel_time(long clock) {
    timespec now{};
    EXPECT_EQ(raw_syscall(SYS_clock_gettime, clock, &now), 0) << clock;
    return nanoseconds(now);
  }
};

/// That only go forwards.
TEST_F(ClockCallsTest, ClocksOfTheVdsoAreReadThere) {
  for (const long clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME}) {
    timespec now{};
    const std::int64_t before = kernel_time(clock);
    EXPECT_EQ(answer(SYS_clock_gettime, static_cast<std::uint64_t>(clock), at(now)), 0) << clock;
    EXPECT_LE(before, nanoseconds(now)) << clock;
    EXPECT_LE(nanoseconds(now), kernel_time(clock)) << clock;
  }
}

TEST_F(ClockCallsTest, OthersAndThoseThatThereAreNotAreTheKernelsBusiness) {
  timespec now{};
  for (const long clock : std::array<long, 6>{CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_REALTIME_ALARM,
                                              -1, CLOCK_TAI + 1, std::numeric_limits<long>::max()})
    EXPECT_EQ(answer(SYS_clock_gettime, static_cast<std::uint64_t>(clock), at(now)), std::nullopt) << clock;
  EXPECT_EQ(answer(SYS_getpid, 0), std::nullopt);
  EXPECT_EQ(nanoseconds(now), 0);
}

TEST_F(ClockCallsTest, WhereTheAnswerCannotBeWrittenItIsAnError) {
  EXPECT_EQ(answer(SYS_clock_gettime, CLOCK_MONOTONIC, kNowhere), -EFAULT);
  EXPECT_EQ(answer(SYS_gettimeofday, kNowhere), -EFAULT);
  EXPECT_EQ(answer(SYS_time, kNowhere), -EFAULT);
}

TEST_F(ClockCallsTest, OfGettimeofdayTheTimeIsAnsweredAndTheZoneNot) {
  timeval now{};
  EXPECT_EQ(answer(SYS_gettimeofday, at(now)), 0);
  EXPECT_GT(now.tv_sec, 0);
  EXPECT_EQ(answer(SYS_gettimeofday, 0), 0);
  std::uint64_t zone = 0;
  EXPECT_EQ(answer(SYS_gettimeofday, at(now), at(zone)), std::nullopt);
}

TEST_F(ClockCallsTest, TimeIsAnsweredAndWrittenWhereThatIsWanted) {
  time_t written = 0;
  const std::optional<long> returned = answer(SYS_time, at(written));
  EXPECT_GT(written, 0);
  EXPECT_EQ(returned, written);
  EXPECT_GE(answer(SYS_time, 0), returned);
}

}  // namespace
}  // namespace zs::engine
