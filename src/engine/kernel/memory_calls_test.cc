// Who hears of what a call did to the program's mappings.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "engine/kernel/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

class NothingGoesOn final : public Resumes {
 public:
  std::uint64_t resume(std::uint32_t /*link_from*/) override { return 0; }
};

class MemoryCallsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kBytes = 2 * kPageSize;

  void SetUp() override {
    if (segment_ < 0) GTEST_SKIP() << "no System V shared memory here: " << std::strerror(errno);
    start();
    run_.code = &kernel_.code;
  }
  void TearDown() override {
    for (const Mapping& mapping : heard_.mappings) run_.map.munmap(mapping.start, mapping.length);
    if (segment_ >= 0) shmctl(segment_, IPC_RMID, nullptr);
  }
  std::uint64_t attach(std::uint64_t address, int flags) {
    const long arguments[6] = {segment_, static_cast<long>(address), flags};
    return static_cast<std::uint64_t>(calls::shmat(kernel_, {SYS_shmat, arguments}).result);
  }
  std::uint64_t map_code() {
    const long arguments[6] = {0, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0};
    return static_cast<std::uint64_t>(calls::mmap(kernel_, {SYS_mmap, arguments}).result);
  }

  const int segment_ = shmget(IPC_PRIVATE, kBytes, 0600 | IPC_CREAT);
  NothingGoesOn resumes_;
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

}  // namespace
}  // namespace zs::engine
