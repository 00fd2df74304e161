#include "host/perf_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>

namespace zs::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Place kProgram{.tid = 1234, .cpu = 0};
constexpr Place kCpu{.tid = -1, .cpu = 3};

std::string told(int error, Permissions permissions, Place place = kProgram, std::uint32_t type = PERF_TYPE_HARDWARE,
                 unsigned precise = 0) {
  perf_event_attr attr{};
  attr.type = type;
  attr.precise_ip = precise & 3u;
  const Error told = why_not_opened(error, "cycles", attr, place, permissions);
  return told.message + " | " + told.hint;
}

TEST(PerfErrors, TheReasonsBehindOneNumberAreToldApart) {
  const Permissions nobody{.paranoid = 2};
  EXPECT_THAT(told(EACCES, {.paranoid = 3}),
              AllOf(HasSubstr("thread 1234"), HasSubstr("perf_event_paranoid is 3"), HasSubstr("paranoid=2")));
  EXPECT_THAT(told(EACCES, nobody, kCpu), AllOf(HasSubstr("CPU 3"), HasSubstr("a whole CPU needs 0")));
  EXPECT_THAT(told(EPERM, nobody), HasSubstr("another user's"));
  EXPECT_THAT(told(EPERM, {.paranoid = 2, .filtered = true}), HasSubstr("seccomp"));
  EXPECT_THAT(told(EPERM, {.paranoid = 4, .privileged = true, .filtered = true}), HasSubstr("seccomp"));
}

TEST(PerfErrors, EachNumberHasItsRemedy) {
  EXPECT_THAT(told(ENOENT, {}), HasSubstr("no PMU that counts it | `zeroskid doctor` says why; --pmu=sw"));
  EXPECT_THAT(told(EINVAL, {}, kProgram, PERF_TYPE_HARDWARE, 3), HasSubstr("precise to ppp"));
  EXPECT_THAT(told(EMFILE, {}), HasSubstr("ulimit -n"));
  EXPECT_THAT(told(ENOSPC, {}), HasSubstr("breakpoint registers"));
  EXPECT_THAT(told(ESRCH, {}), HasSubstr("no such process"));
  EXPECT_THAT(told(ENOSYS, {}), HasSubstr("without perf events"));
  EXPECT_THAT(why_no_ring(EPERM, 1 << 20).hint, HasSubstr("perf_event_mlock_kb"));
}

TEST(PerfErrors, WhoMaySeeTheKernel) {
  EXPECT_TRUE(may_see_the_kernel({.paranoid = 1}));
  EXPECT_FALSE(may_see_the_kernel({.paranoid = 2}));
  EXPECT_TRUE(may_see_the_kernel({.paranoid = 4, .privileged = true}));
}

}  // namespace
}  // namespace zs::host
