#include "host/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "host/running_processes.h"

namespace zs::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(Targets, ListsOfCpusAreTheKernels) {
  EXPECT_THAT(*parse_cpus("0-3,7"), ElementsAre(0, 1, 2, 3, 7));
  EXPECT_THAT(*parse_cpus("2,0,2"), ElementsAre(0, 2));
  for (const char* wrong : {"", "a", "3-1", "1,,2", "-1", "0-99999"}) EXPECT_FALSE(parse_cpus(wrong)) << wrong;
}

TEST(Targets, IdsAreNumbers) {
  EXPECT_THAT(*parse_ids("-p", "1,22"), ElementsAre(1, 22));
  for (const char* wrong : {"", "0", "self", "1,", "-4"}) EXPECT_FALSE(parse_ids("-p", wrong)) << wrong;
}

TEST(Targets, APlaceForEachThreadAndCpu) {
  const auto both = places_of({.threads = {10, 11}, .cpus = {0, 1}}, -1);
  EXPECT_THAT(*both, ElementsAre(Place{10, 0}, Place{10, 1}, Place{11, 0}, Place{11, 1}));
  EXPECT_THAT(*places_of({.threads = {10}, .cpus = {0, 1}, .per_thread = true}, -1), ElementsAre(Place{10, -1}));
  EXPECT_THAT(*places_of({.cpus = {1}}, -1), ElementsAre(Place{-1, 1}));
  EXPECT_THAT(*places_of({.per_thread = true}, 77), ElementsAre(Place{77, -1, true}));
  EXPECT_FALSE(places_of({.processes = {0x7ffffff0}}, -1));
}

TEST(RunningProcesses, ALineOfMaps) {
  const auto mapping =
      parse_mapping("7f1200000000-7f1200021000 r-xp 00001000 fe:01 1234                       /usr/lib/a b.so");
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->start, 0x7f1200000000u);
  EXPECT_EQ(mapping->end, 0x7f1200021000u);
  EXPECT_EQ(mapping->file_offset, 0x1000u);
  EXPECT_EQ(mapping->protection, 5u);
  EXPECT_EQ(mapping->device_major, 0xfeu);
  EXPECT_EQ(mapping->inode, 1234u);
  EXPECT_EQ(mapping->path, "/usr/lib/a b.so");
  EXPECT_EQ(parse_mapping("7f1200000000-7f1200021000 rw-p 00000000 00:00 0 ")->path, "");
  for (const char* wrong : {"", "x", "7f12-7f13", "7f12-7f13 rwxp", "7f12-7f13 rwxp 0 0:0"})
    EXPECT_FALSE(parse_mapping(wrong)) << wrong;
}

TEST(RunningProcesses, WeAreAmongThem) {
  EXPECT_THAT(all_processes(), Contains(getpid()));
  const auto self = look_at_process(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->parent, getppid());
  EXPECT_EQ(self->threads.front().tid, getpid());
  EXPECT_FALSE(self->mappings.empty());
  EXPECT_EQ(process_of(gettid()), getpid());
  EXPECT_FALSE(look_at_process(0x7ffffff0));
}

}  // namespace
}  // namespace zs::host
