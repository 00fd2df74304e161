#include "session/settings/clock.h"

#include <gtest/gtest.h>
#include <x86intrin.h>

#include <cstdint>

namespace zs::session {
namespace {

/// What a SteadyClock sees; the test says when it moves. Three ticks take a nanosecond.
SteadyClock::Look seen;

SteadyClock clock_at(std::uint64_t ns) {
  seen = {.ticks = 3 * ns + 77, .ns = ns};
  return SteadyClock([] { return seen; });
}
void wait(std::uint64_t ns) { seen = {.ticks = seen.ticks + 3 * ns, .ns = seen.ns + ns}; }

TEST(SteadyClock, ReadsTheKernelsNanoseconds) {
  SteadyClock clock = clock_at(1'000'000);
  EXPECT_EQ(clock.tsc(), 1'000'000U);
  wait(500);
  EXPECT_EQ(clock.now_ns(), 1'000'500U);
}

TEST(SteadyClock, SetBackReadsWhatItReadThen) {
  SteadyClock clock = clock_at(1'000'000);
  wait(2'000);
  const std::uint64_t then = seen.ticks, read_then = seen.ns;
  wait(20'000'000);
  clock.set_back(then);
  EXPECT_NEAR(static_cast<double>(clock.tsc()), static_cast<double>(read_then), 1);
  wait(1'000);  // it stands still meanwhile
  EXPECT_NEAR(static_cast<double>(clock.tsc()), static_cast<double>(read_then), 1);
  clock.set_back(0);
  EXPECT_EQ(clock.tsc(), seen.ns);
}

TEST(SteadyClock, NeverGoesBackAndNeverBeyondNow) {
  SteadyClock clock = clock_at(1'000'000);
  const std::uint64_t before = seen.ticks;
  wait(5'000);
  std::uint64_t latest = clock.tsc();
  for (const std::uint64_t ticks : {before, std::uint64_t{1}, seen.ticks, ~std::uint64_t{0}}) {
    clock.set_back(ticks);
    EXPECT_GE(clock.tsc(), latest);
    EXPECT_LE(clock.tsc(), seen.ns);
    latest = clock.tsc();
    wait(100);
  }
  clock.set_back(0);
  EXPECT_GE(clock.tsc(), latest);
}

/// The one test that asks the host: its two clocks are read one after the other, and neither runs back.
TEST(SteadyClock, OfTheHostNeverGoesBack) {
  SteadyClock clock;
  std::uint64_t latest = clock.tsc();
  for (int i = 0; i < 1000; ++i) {
    if (i % 2 == 0) clock.set_back(__rdtsc());
    EXPECT_GE(clock.tsc(), latest);
    latest = clock.tsc();
    clock.set_back(0);
  }
}

}  // namespace
}  // namespace zs::session
