#include "engine/memory/store_key.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zs::engine {
namespace {

TEST(StoreKey, LetsTheEngineStore) {
  void* const page = mmap(nullptr, kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const auto at = reinterpret_cast<std::uint64_t>(page);
  EXPECT_EQ(StoreKey::instance().protect({at, at + kPageSize}, PROT_READ | PROT_WRITE), 0);
  *static_cast<volatile int*>(page) = 1;
  munmap(page, kPageSize);
}

TEST(StoreKey, KeepsTheProgramFromStoringAndNotFromLoading) {
  const StoreKey& key = StoreKey::instance();
  if (!key.there()) GTEST_SKIP() << "the processor has no protection keys, or the kernel gives none";
  auto* const page =
      static_cast<volatile int*>(mmap(nullptr, kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto at = reinterpret_cast<std::uint64_t>(page);
  ASSERT_EQ(key.protect({at, at + kPageSize}, PROT_READ | PROT_WRITE), 0);
  *page = 7;
  alignas(64) std::array<std::byte, 16384> area{};
  key.close_in(area.data());
  EXPECT_EXIT(
      {
        asm volatile("xrstor64 %0" ::"m"(area), "a"(1u << 9), "d"(0));
        if (*page != 7) _exit(1);
        signal(SIGSEGV, SIG_DFL);
        *page = 8;
      },
      testing::KilledBySignal(SIGSEGV), "");
  munmap(const_cast<int*>(page), kPageSize);
}

TEST(StoreKey, LeavesTheProgramTheOthers) {
  const StoreKey& key = StoreKey::instance();
  if (!key.there()) GTEST_SKIP() << "the processor has no protection keys, or the kernel gives none";
  key.leave_others();
  const long first = syscall(SYS_pkey_alloc, 0, 0);
  EXPECT_EQ(first, 1);
  EXPECT_FALSE(key.is(first));
  EXPECT_EQ(syscall(SYS_pkey_free, first), 0);
}

TEST(StoreKey, LeavesWhatElseTheProgramHasSet) {
  const StoreKey& key = StoreKey::instance();
  if (!key.there()) GTEST_SKIP() << "the processor has no protection keys, or the kernel gives none";
  std::array<std::byte, 16384> area{};
  key.close_in(area.data());
  const auto closed = area;
  constexpr std::uint64_t kPresent = 7;
  std::memcpy(&area[512], &kPresent, 1);
  key.close_in(area.data());
  EXPECT_EQ(std::to_integer<unsigned>(area[512]), kPresent);
  EXPECT_EQ(std::to_integer<unsigned>(area[513]), 2U);
  std::memcpy(&area[512], &closed[512], 8);
  EXPECT_EQ(area, closed);
}

TEST(StoreKey, ShowsTheProgramTheRightsThatItHasSetAndOfTheEnginesKeyThoseThatItBeganWith) {
  const StoreKey& key = StoreKey::instance();
  if (!key.there()) GTEST_SKIP() << "the processor has no protection keys, or the kernel gives none";
  std::array<std::byte, 16384> area{};
  key.begin_in(area.data());
  const std::uint32_t at_first = key.shown_in(area.data());
  key.close_in(area.data());
  EXPECT_EQ(key.shown_in(area.data()), at_first);
  key.set_all_in(area.data(), at_first ^ 4);
  key.close_in(area.data());
  EXPECT_EQ(key.shown_in(area.data()), at_first ^ 4);
}

}  // namespace
}  // namespace zs::engine
