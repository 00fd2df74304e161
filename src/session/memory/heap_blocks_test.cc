#include "session/memory/heap_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace zs::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The test's own memory stands for the program's: its libc is mapped as the program's would be.
class HeapBlocksTest : public testing::Test {
 protected:
  HeapBlocksTest() {
    const auto address = reinterpret_cast<std::uint64_t>(&malloc);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      engine::Mapping mapping{.protection = PROT_READ | PROT_EXEC};
      char path[512] = "";
      std::uint64_t end = 0;
      const int fields =
          std::sscanf(line.c_str(), "%lx-%lx r-xp %lx %x:%x %lu %511s", &mapping.start, &end, &mapping.file_offset,
                      &mapping.device_major, &mapping.device_minor, &mapping.inode, path);
      if (fields != 7) continue;
      mapping.length = end - mapping.start;
      mapping.path = path;
      if (address - mapping.start < mapping.length) libc_ = mapping;
    }
  }

  /// A call of `function` from `site` with the stack pointer where `depth` says, up to its first instruction.
  template <typename Function>
  void enter(Function function, std::uint64_t site, std::uint64_t di, std::uint64_t si = 0, std::uint64_t dx = 0,
             std::size_t depth = 0) {
    stack_[kTop - depth] = site;
    arch::RegisterFile registers;
    registers.sp = reinterpret_cast<std::uint64_t>(&stack_[kTop - depth]);
    registers.di = di;
    registers.si = si;
    registers.dx = dx;
    reach(reinterpret_cast<std::uint64_t>(function), registers);
  }
  void leave(std::uint64_t site, std::uint64_t ax, std::size_t depth = 0) {
    arch::RegisterFile registers;
    registers.sp = reinterpret_cast<std::uint64_t>(&stack_[kTop - depth + 1]);
    registers.ax = ax;
    reach(site, registers);
  }
  void reach(std::uint64_t pc, const arch::RegisterFile& registers) {
    thread_.reached(pc, registers, [this] { ++changes_; });
  }
  std::vector<std::uint64_t> site_at(std::uint64_t address) {
    const auto block = blocks_.find(address);
    return block == nullptr ? std::vector<std::uint64_t>() : block->site;
  }

  static constexpr std::size_t kTop = 200;
  std::array<std::uint64_t, 400> stack_{};
  engine::Mapping libc_;
  OwnProcessMemory memory_;
  HeapBlocks blocks_{memory_};
  ThreadHeap thread_{blocks_};
  int changes_ = 0;
};

TEST_F(HeapBlocksTest, FindsTheAllocatorInAFileAndProbesIt) {
  ASSERT_NE(libc_.start, 0u);
  EXPECT_EQ(blocks_.call_at(reinterpret_cast<std::uint64_t>(&malloc)), nullptr);
  blocks_.mapped(libc_);
  const auto* call = blocks_.call_at(reinterpret_cast<std::uint64_t>(&malloc));
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(*call, AllocatorCall::Allocate);
  EXPECT_EQ(*blocks_.call_at(reinterpret_cast<std::uint64_t>(&free)), AllocatorCall::Free);
  EXPECT_EQ(*blocks_.call_at(reinterpret_cast<std::uint64_t>(&realloc)), AllocatorCall::Resize);
  const engine::CodeProbe probe{
      .pc = reinterpret_cast<std::uint64_t>(&malloc), .time = engine::ProbeTime::Before, .with_registers = true};
  EXPECT_THAT(blocks_.take_new_probes(), testing::Contains(probe));
  EXPECT_THAT(blocks_.take_new_probes(), IsEmpty());
}

TEST_F(HeapBlocksTest, ForgetsFunctionsOverWhichSomethingElseIsMapped) {
  blocks_.mapped(libc_);
  engine::Mapping other = libc_;
  other.path = "//anon";
  other.inode = 0;
  blocks_.mapped(other);
  EXPECT_EQ(blocks_.call_at(reinterpret_cast<std::uint64_t>(&malloc)), nullptr);
}

TEST_F(HeapBlocksTest, ABlockIsWhatTheCallReturnedAndEndsWhereItIsHandedToFree) {
  blocks_.mapped(libc_);
  enter(&malloc, 0x401000, 100);
  EXPECT_THAT(site_at(0x9000), IsEmpty());
  leave(0x401000, 0x9000);
  EXPECT_THAT(site_at(0x9000), ElementsAre(0x401000));
  EXPECT_THAT(site_at(0x9063), ElementsAre(0x401000));
  EXPECT_THAT(site_at(0x9064), IsEmpty());
  EXPECT_THAT(site_at(0x8FFF), IsEmpty());
  EXPECT_EQ(changes_, 1);
  enter(&free, 0x401010, 0x9010);  // no block
  EXPECT_EQ(changes_, 1);
  enter(&free, 0x401010, 0x9000);
  EXPECT_THAT(site_at(0x9000), IsEmpty());
  EXPECT_EQ(changes_, 2);
}

TEST_F(HeapBlocksTest, AFailureIsNoBlock) {
  blocks_.mapped(libc_);
  enter(&malloc, 0x401000, 100);
  leave(0x401000, 0);
  EXPECT_EQ(changes_, 0);
  enter(&calloc, 0x401000, std::uint64_t{1} << 40, std::uint64_t{1} << 40);
  leave(0x401000, 0);
  EXPECT_EQ(changes_, 0);
}

TEST_F(HeapBlocksTest, OfCallsThatLeadToOneAnotherTheOutermostCounts) {
  blocks_.mapped(libc_);
  enter(&strdup, 0x401000, 0x5000, 0, 0, 0);
  enter(&malloc, 0x7F0010, 12, 0, 0, 4);
  leave(0x7F0010, 0x9000, 4);
  EXPECT_THAT(site_at(0x9000), ElementsAre(0x401000));  // known at once: strdup will write to it
  leave(0x401000, 0x9000);
  // An allocator over another one: the block is what the program got, not what lies around it.
  enter(&calloc, 0x402000, 3, 100, 0, 0);
  enter(&malloc, 0x7F0020, 1000, 0, 0, 4);
  leave(0x7F0020, 0xA000, 4);
  EXPECT_THAT(site_at(0xA000), IsEmpty());
  leave(0x402000, 0xA040);
  EXPECT_THAT(site_at(0xA03F), IsEmpty());
  EXPECT_THAT(site_at(0xA040 + 299), ElementsAre(0x402000));
  EXPECT_THAT(site_at(0xA040 + 300), IsEmpty());
}

TEST_F(HeapBlocksTest, AFunctionThatJumpsToAnotherIsAnsweredForByIt) {
  blocks_.mapped(libc_);
  enter(&strdup, 0x401000, 0x5000);
  enter(&malloc, 0x401000, 12);
  leave(0x401000, 0x9000);
  EXPECT_THAT(site_at(0x9000), ElementsAre(0x401000));
}

TEST_F(HeapBlocksTest, ACallThatWasLeftByAJumpIsForgotten) {
  blocks_.mapped(libc_);
  enter(&malloc, 0x401000, 12, 0, 0, 50);
  enter(&malloc, 0x402000, 40, 0, 0, 10);  // the stack is shorter: that one never returned
  leave(0x402000, 0x9000, 10);
  EXPECT_THAT(site_at(0x9000 + 39), ElementsAre(0x402000));
}

TEST_F(HeapBlocksTest, AResizedBlockIsOfWhoResizedIt) {
  blocks_.mapped(libc_);
  enter(&malloc, 0x401000, 100);
  leave(0x401000, 0x9000);
  enter(&realloc, 0x402000, 0x9000, 200);
  EXPECT_THAT(site_at(0x9000), ElementsAre(0x401000));  // it is copied from
  leave(0x402000, 0xB000);
  EXPECT_THAT(site_at(0x9000), IsEmpty());
  EXPECT_THAT(site_at(0xB000 + 199), ElementsAre(0x402000));
  enter(&realloc, 0x403000, 0xB000, 50);
  leave(0x403000, 0xB000);  // where it is
  EXPECT_THAT(site_at(0xB000 + 49), ElementsAre(0x403000));
  EXPECT_THAT(site_at(0xB000 + 50), IsEmpty());
  enter(&realloc, 0x404000, 0xB000, std::uint64_t{1} << 50);
  leave(0x404000, 0);  // it failed: the block stays
  EXPECT_THAT(site_at(0xB000), ElementsAre(0x403000));
  enter(&realloc, 0x405000, 0xB000, 0);
  leave(0x405000, 0);  // it was freed
  EXPECT_THAT(site_at(0xB000), IsEmpty());
}

TEST_F(HeapBlocksTest, AnotherThreadMayHaveTheOldPlaceBeforeAResizeReturns) {
  blocks_.mapped(libc_);
  enter(&malloc, 0x401000, 100);
  leave(0x401000, 0x9000);
  enter(&realloc, 0x402000, 0x9000, 200);
  blocks_.add(0x9000, 64, {0x405000});
  leave(0x402000, 0xB000);
  EXPECT_THAT(site_at(0x9000), ElementsAre(0x405000));
  EXPECT_THAT(site_at(0xB000), ElementsAre(0x402000));
}

TEST_F(HeapBlocksTest, PosixMemalignSaysWhereByItsArgument) {
  blocks_.mapped(libc_);
  std::uint64_t pointer = 0x9000;
  enter(&posix_memalign, 0x401000, reinterpret_cast<std::uint64_t>(&pointer), 64, 100);
  leave(0x401000, 0xFFFFFFFF'00000000);  // an int
  EXPECT_THAT(site_at(0x9000 + 99), ElementsAre(0x401000));
  pointer = 0xA000;
  enter(&posix_memalign, 0x401000, reinterpret_cast<std::uint64_t>(&pointer), 64, 100);
  leave(0x401000, 12);
  EXPECT_THAT(site_at(0xA000), IsEmpty());
}

TEST_F(HeapBlocksTest, ABlockTakesThePlaceOfThoseItOverlaps) {
  for (const std::uint64_t start : {0x1000, 0x1100, 0x1200, 0x1300}) blocks_.add(start, 0x100, {start});
  blocks_.add(0x1180, 0x90, {7});
  EXPECT_THAT(site_at(0x1000), ElementsAre(0x1000));
  EXPECT_THAT(site_at(0x1100), IsEmpty());
  EXPECT_THAT(site_at(0x1180), ElementsAre(7));
  EXPECT_THAT(site_at(0x1210), IsEmpty());
  EXPECT_THAT(site_at(0x1300), ElementsAre(0x1300));
}

TEST_F(HeapBlocksTest, CallersAreFollowedAsFarAsTheyKeepFramePointersAndReturnToCode) {
  blocks_.mapped(libc_);
  const std::uint64_t code = libc_.start + 16;
  arch::RegisterFile registers;
  registers.sp = reinterpret_cast<std::uint64_t>(&stack_[kTop]);
  registers.bp = reinterpret_cast<std::uint64_t>(&stack_[kTop + 4]);
  stack_[kTop] = 0x401000;
  stack_[kTop + 4] = reinterpret_cast<std::uint64_t>(&stack_[kTop + 10]);
  stack_[kTop + 5] = code;
  stack_[kTop + 10] = 1;
  stack_[kTop + 11] = code + 1;
  EXPECT_THAT(blocks_.callers(registers), ElementsAre(0x401000, code, code + 1));
  stack_[kTop + 5] = 0x1234;  // BP was something else
  EXPECT_THAT(blocks_.callers(registers), ElementsAre(0x401000));
}

TEST(FindAllocators, SaysNothingOfWhatIsNoElfFile) {
  const auto none = [](std::uint64_t, std::span<std::byte>) { return false; };
  EXPECT_THAT(find_allocators(none), IsEmpty());
  const auto zeros = [](std::uint64_t, std::span<std::byte> out) {
    std::memset(out.data(), 0, out.size());
    return true;
  };
  EXPECT_THAT(find_allocators(zeros), IsEmpty());
  EXPECT_THAT(find_allocators_of_file("/nonexistent", 1), IsEmpty());
  EXPECT_THAT(find_allocators_of_file("/proc/self/exe", 1), IsEmpty());  // another file's inode
}

}  // namespace
}  // namespace zs::session
