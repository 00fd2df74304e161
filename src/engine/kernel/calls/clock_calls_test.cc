// Clocks are read without the kernel, and as it reads them.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

class ClockCallsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kNowhere = 8;

  void SetUp() override { start(); }
  long answer(HandlesCall handler, long number, std::uint64_t first, std::uint64_t second = 0) {
    const long arguments[6] = {static_cast<long>(first), static_cast<long>(second)};
    return handler(kernel_, {number, arguments}).result;
  }
  long clock_gettime(long clock, std::uint64_t to) {
    return answer(calls::clock_gettime, SYS_clock_gettime, static_cast<std::uint64_t>(clock), to);
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

  class NothingGoesOn final : public Resumes {
   public:
    std::uint64_t resume(std::uint32_t /*link_from*/) override { return 0; }
  } resumes_;
  GuestKernel kernel_{run_, accountant_, resumes_};
};

/// That only go forwards.
TEST_F(ClockCallsTest, ClocksShowWhatTheKernelShows) {
  for (const long clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
                           CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID}) {
    timespec now{};
    const std::int64_t before = kernel_time(clock);
    EXPECT_EQ(clock_gettime(clock, at(now)), 0) << clock;
    EXPECT_LE(before, nanoseconds(now)) << clock;
    EXPECT_LE(nanoseconds(now), kernel_time(clock)) << clock;
  }
}

TEST_F(ClockCallsTest, ClocksThatThereAreNotAreErrors) {
  timespec now{};
  for (const long clock : std::array<long, 3>{CLOCK_TAI + 1, CLOCK_TAI + 100, std::numeric_limits<int>::max()})
    EXPECT_EQ(clock_gettime(clock, at(now)), -EINVAL) << clock;
  EXPECT_EQ(nanoseconds(now), 0);
}

TEST_F(ClockCallsTest, WhereTheAnswerCannotBeWrittenItIsAnError) {
  EXPECT_EQ(clock_gettime(CLOCK_MONOTONIC, kNowhere), -EFAULT);
  EXPECT_EQ(clock_gettime(CLOCK_MONOTONIC, 0), -EFAULT);
  EXPECT_EQ(answer(calls::gettimeofday, SYS_gettimeofday, kNowhere), -EFAULT);
  EXPECT_EQ(answer(calls::time, SYS_time, kNowhere), -EFAULT);
}

TEST_F(ClockCallsTest, OfGettimeofdayTheZoneIsTheKernels) {
  timeval now{};
  EXPECT_EQ(answer(calls::gettimeofday, SYS_gettimeofday, at(now)), 0);
  EXPECT_GT(now.tv_sec, 0);
  EXPECT_EQ(answer(calls::gettimeofday, SYS_gettimeofday, 0), 0);
  std::array<std::int32_t, 2> zone = {-1, -1};
  EXPECT_EQ(answer(calls::gettimeofday, SYS_gettimeofday, at(now), at(zone)), 0);
  EXPECT_NE(zone[1], -1);
}

TEST_F(ClockCallsTest, TimeIsAnsweredAndWrittenWhereThatIsWanted) {
  time_t written = 0;
  const long returned = answer(calls::time, SYS_time, at(written));
  EXPECT_GT(written, 0);
  EXPECT_EQ(returned, written);
  EXPECT_GE(answer(calls::time, SYS_time, 0), returned);
}

}  // namespace
}  // namespace zs::engine
