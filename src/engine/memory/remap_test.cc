#include "engine/memory/remap.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "engine/memory/map_limits.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kFrom = 0x2020'0000'0000, kTo = 0x2030'0000'0000;

/// Two mappings of a page each, and one at the place where they shall go.
class Remap : public testing::Test {
 protected:
  Remap() {
    map(kFrom, PROT_READ | PROT_WRITE);
    map(kFrom + kPageSize, PROT_READ);
    map(kTo, PROT_READ);
  }
  ~Remap() override {
    space_.unmap(kFrom, 2 * kPageSize);
    space_.unmap(kTo, 2 * kPageSize);
  }
  void map(std::uint64_t at, std::uint32_t prot) {
    GuestMapping wanted;
    wanted.start = at;
    wanted.end = at + kPageSize;
    wanted.prot = prot;
    ASSERT_EQ(space_.map_exactly(wanted, MAP_PRIVATE | MAP_ANONYMOUS, -1), static_cast<long>(at));
  }
  long move(std::uint64_t pages, bool moves_several) {
    const RemapCall call{kFrom, pages * kPageSize, pages * kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, kTo};
    return remap(space_, MapLimits(space_.mappings()), call, moves_several);
  }

  AddressSpace space_{Layout{}, RealProtection(true)};
};

TEST_F(Remap, MovesSeveralMappingsWhereTheKernelDoes) {
  EXPECT_EQ(move(2, true), static_cast<long>(kTo));
  EXPECT_FALSE(space_.mappings().is_mapped(kFrom));
  EXPECT_EQ(space_.mappings().prot_at(kTo + kPageSize), static_cast<std::uint32_t>(PROT_READ));
}

// source: Linux 6.1, mm/mremap.c, mremap_to: what is at the target goes first.
TEST_F(Remap, RefusesSeveralWhereTheKernelDoesAndHasClearedTheirTarget) {
  EXPECT_EQ(move(2, false), -EFAULT);
  EXPECT_TRUE(space_.mappings().is_mapped(kFrom));
  EXPECT_FALSE(space_.mappings().is_mapped(kTo));
}

TEST_F(Remap, MovesOneOnAnyKernel) {
  EXPECT_EQ(move(1, false), static_cast<long>(kTo));
  EXPECT_FALSE(space_.mappings().is_mapped(kFrom));
  EXPECT_TRUE(space_.mappings().is_mapped(kFrom + kPageSize));
}

TEST_F(Remap, KnowsWhatThisKernelDoes) {
  const long from = raw_syscall(SYS_mmap, 0, 4 * kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(raw_syscall(SYS_mprotect, from, kPageSize, PROT_READ), 0);
  const long to = from + static_cast<long>(2 * kPageSize);
  const long moved = raw_syscall(SYS_mremap, from, 2 * kPageSize, 2 * kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, to);
  EXPECT_EQ(kernel_moves_several(), moved == to);
  raw_syscall(SYS_munmap, from, 4 * kPageSize);
}

}  // namespace
}  // namespace zs::engine
