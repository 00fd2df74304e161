#include "profile/perf_data/address_space.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace zs::profile {
namespace {

Mmap mapping(std::int32_t pid, std::uint64_t start, std::uint64_t length, std::uint64_t offset, std::string path) {
  return {.pid = pid,
          .tid = pid,
          .start = start,
          .length = length,
          .file_offset = offset,
          .protection = PROT_READ | PROT_EXEC,
          .path = std::move(path)};
}

std::string path_at(const AddressSpaces& spaces, std::int32_t pid, std::uint64_t address) {
  const Mapping* found = spaces.find(pid, address);
  return found != nullptr ? found->image->path : "nothing";
}

TEST(AddressSpaces, FindNothingBesideAMapping) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, 0x1000, 0x1000, 0, "/a"));
  EXPECT_EQ(path_at(spaces, 1, 0xFFF), "nothing");
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  EXPECT_EQ(path_at(spaces, 1, 0x1FFF), "/a");
  EXPECT_EQ(path_at(spaces, 1, 0x2000), "nothing");
  EXPECT_EQ(path_at(spaces, 2, 0x1000), "nothing");
}

TEST(AddressSpaces, CutTheMappingThatANewOneCovers) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, 0x1000, 0x5000, 0x100000, "/old"));
  spaces.apply(mapping(1, 0x2000, 0x1000, 0, "/new"));
  EXPECT_EQ(path_at(spaces, 1, 0x1800), "/old");
  EXPECT_EQ(path_at(spaces, 1, 0x2800), "/new");
  EXPECT_EQ(path_at(spaces, 1, 0x3000), "/old");
  EXPECT_EQ(spaces.find(1, 0x3010)->file_offset_of(0x3010), FileOffset{0x102010});  // as if nothing had been cut
  spaces.apply(mapping(1, 0, 0x10000, 0, "/all"));
  for (std::uint64_t address : {0x0, 0x1000, 0x2000, 0x5FFF, 0xFFFF}) EXPECT_EQ(path_at(spaces, 1, address), "/all");
}

TEST(AddressSpaces, GiveAForkedProcessACopyOfItsOwn) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, 0x1000, 0x1000, 0, "/a"));
  spaces.apply(Fork{.pid = 2, .parent_pid = 1, .tid = 2, .parent_tid = 1});
  spaces.apply(mapping(2, 0x1000, 0x1000, 0, "/child"));
  spaces.apply(mapping(1, 0x8000, 0x1000, 0, "/parent"));
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  EXPECT_EQ(path_at(spaces, 2, 0x1000), "/child");
  EXPECT_EQ(path_at(spaces, 2, 0x8000), "nothing");
}

TEST(AddressSpaces, ForgetEverythingAtAnExec) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, 0x1000, 0x1000, 0, "/a"));
  spaces.apply(Comm{.pid = 1, .tid = 1, .name = "renamed"});
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  spaces.apply(Comm{.pid = 1, .tid = 1, .name = "other", .exec = true});
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "nothing");
}

TEST(AddressSpaces, GiveAThreadTheNameItsParentHadThen) {
  AddressSpaces spaces;
  EXPECT_EQ(spaces.comm(7, 7), ":7");
  spaces.apply(Comm{.pid = 7, .tid = 7, .name = "main"});
  spaces.apply(Fork{.pid = 7, .parent_pid = 7, .tid = 8, .parent_tid = 7});
  spaces.apply(Comm{.pid = 7, .tid = 7, .name = "other"});
  EXPECT_EQ(spaces.comm(7, 8), "main");
  EXPECT_EQ(spaces.comm(7, 9), "other");
}

TEST(AddressSpaces, ShareOneImageAmongTheProcessesThatMapIt) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, 0x1000, 0x1000, 0, "/a"));
  spaces.apply(mapping(2, 0x9000, 0x1000, 0, "/a"));
  EXPECT_EQ(spaces.find(1, 0x1000)->image, spaces.find(2, 0x9000)->image);
  Mmap rebuilt = mapping(3, 0x9000, 0x1000, 0, "/a");
  rebuilt.build_id = BuildId{{1}, 1};
  spaces.apply(rebuilt);
  EXPECT_NE(spaces.find(1, 0x1000)->image, spaces.find(3, 0x9000)->image);
  EXPECT_EQ(spaces.images().size(), 2u);
}

TEST(AddressSpaces, GiveEachProcessItsOwnImageOfAnonymousCode) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, 0x1000, 0x1000, 0, "//anon"));
  spaces.apply(mapping(2, 0x1000, 0x1000, 0, "//anon"));
  EXPECT_EQ(spaces.find(1, 0x1000)->image->jit_pid, 1);
  EXPECT_EQ(spaces.find(2, 0x1000)->image->jit_pid, 2);
}

TEST(AddressSpaces, PassOverMappingsThatWrapAround) {
  AddressSpaces spaces;
  spaces.apply(mapping(1, UINT64_MAX - 10, 100, 0, "/a"));
  spaces.apply(mapping(1, 0x1000, 0, 0, "/b"));
  EXPECT_EQ(path_at(spaces, 1, UINT64_MAX - 5), "nothing");
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "nothing");
}

}  // namespace
}  // namespace zs::profile
