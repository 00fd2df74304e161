#include "session/clock.h"

#include <gtest/gtest.h>
#include <x86intrin.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace zs::session {
namespace {

using namespace std::chrono_literals;

TEST(SteadyClock, SetBackReadsWhatItReadThen) {
  SteadyClock clock;
  constexpr std::uint64_t kNear = 5'000'000;  // the machine may do something else between two looks
  std::this_thread::sleep_for(2ms);
  SteadyClock other;
  const std::uint64_t then = __rdtsc(), read_then = other.tsc();
  std::this_thread::sleep_for(20ms);
  clock.set_back(then);
  const std::uint64_t read_later = clock.tsc();
  EXPECT_LT(read_later, read_then + kNear);
  EXPECT_GT(read_later + kNear, read_then);
  EXPECT_EQ(clock.tsc(), read_later);
  clock.set_back(0);
  EXPECT_GE(clock.tsc(), read_then + 20'000'000);
}

TEST(SteadyClock, NeverGoesBackAndNeverBeyondNow) {
  SteadyClock clock;
  const std::uint64_t before = __rdtsc();
  std::uint64_t latest = clock.tsc();
  for (const std::uint64_t ticks : {before, std::uint64_t{1}, std::uint64_t{__rdtsc()}, ~std::uint64_t{0}}) {
    clock.set_back(ticks);
    EXPECT_GE(clock.tsc(), latest);
    latest = clock.tsc();
  }
  clock.set_back(0);
  EXPECT_GE(clock.tsc(), latest);
}

}  // namespace
}  // namespace zs::session
