// Who hears of what a call did to the program's mappings.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/test_core.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

class NothingGoesOn final : public Resumes {
 public:
  std::uint64_t resume(std::uint32_t /*link_from*/) override { return 0; }
};

/// Hears what is not mapped any more.
class HearingCore final : public FakeCore {
 public:
  void unmapped(std::uint64_t first, std::uint64_t last) override { gone += last - first; }
  std::uint64_t gone = 0;  // bytes
};

class MemoryCallsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kBytes = 2 * kPageSize;

  void SetUp() override {
    if (segment_ < 0) GTEST_SKIP() << "no System V shared memory here: " << std::strerror(errno);
    start();
    run_.code = &kernel_.code;
    run_.thread->core = &core_;
  }
  void TearDown() override {
    for (const Mapping& mapping : heard_.mappings) run_.map.munmap(mapping.start, mapping.length);
    if (segment_ >= 0) shmctl(segment_, IPC_RMID, nullptr);
  }
  std::uint64_t attach(std::uint64_t address, int flags) {
    const long arguments[6] = {segment_, static_cast<long>(address), flags};
    return static_cast<std::uint64_t>(calls::shmat(kernel_, {SYS_shmat, arguments}).result);
  }
  long call(CallHandler handler, std::initializer_list<std::uint64_t> given) {
    long arguments[6] = {};
    std::ranges::transform(given, arguments, [](std::uint64_t each) { return static_cast<long>(each); });
    return handler(kernel_, {0, arguments}).result;
  }
  std::uint64_t map_code() {
    const long arguments[6] = {0, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0};
    return static_cast<std::uint64_t>(calls::mmap(kernel_, {SYS_mmap, arguments}).result);
  }

  const int segment_ = shmget(IPC_PRIVATE, kBytes, 0600 | IPC_CREAT);
  NothingGoesOn resumes_;
  HearingCore core_;
  GuestKernel kernel_{run_, accountant_, resumes_};
};

TEST_F(MemoryCallsTest, AnAttachedSegmentIsReportedAsAMapping) {
  const std::uint64_t at = attach(0, 0);
  ASSERT_EQ(heard_.mappings.size(), 1U);
  EXPECT_EQ(heard_.mappings[0].start, at);
  EXPECT_EQ(heard_.mappings[0].length, kBytes);
}

TEST_F(MemoryCallsTest, NoCodeIsReadWhereASegmentHasTakenItsPlace) {
  const std::uint64_t at = map_code();
  ASSERT_FALSE(kernel_.code.fetch(at).empty());
  ASSERT_EQ(attach(at, SHM_REMAP), at);
  EXPECT_TRUE(kernel_.code.fetch(at).empty());
}

TEST_F(MemoryCallsTest, EachPieceOfASegmentIsGoneWithIt) {
  const std::uint64_t at = attach(0, 0);
  ASSERT_EQ(run_.map.mprotect(at + kPageSize, kPageSize, PROT_READ), 0);
  ASSERT_EQ(call(calls::shmdt, {at}), 0);
  EXPECT_EQ(core_.gone, kBytes);
}

TEST_F(MemoryCallsTest, PagesThatHaveMovedAreGoneWhereTheyWere) {
  for (const std::uint64_t flags : {MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP}) {
    const std::uint64_t from = map_code(), to = map_code();
    core_.gone = 0;
    ASSERT_EQ(call(calls::mremap, {from, kBytes, kBytes, flags, to}), static_cast<long>(to)) << flags;
    EXPECT_EQ(core_.gone, 2 * kBytes) << flags;
  }
}

/// Kernels differ in whether it takes anything away.
TEST_F(MemoryCallsTest, WhatAFailedCallTookAwayIsGone) {
  const auto sealed = static_cast<std::uint64_t>(memfd_create("sealed", MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(static_cast<int>(sealed), kBytes), 0);
  ASSERT_EQ(fcntl(static_cast<int>(sealed), F_ADD_SEALS, F_SEAL_WRITE), 0);
  const std::uint64_t at = map_code();
  ASSERT_LT(call(calls::mmap, {at, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, sealed, 0}), 0);
  EXPECT_EQ(core_.gone, run_.map.mappings().is_mapped(at) ? 0 : kBytes);
  close(static_cast<int>(sealed));
}

}  // namespace
}  // namespace zs::engine
