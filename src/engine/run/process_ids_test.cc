#include "engine/run/process_ids.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "engine/kernel/virtual_time/shared_tables.h"

namespace zs::engine {
namespace {

struct Table {
  Table() { ids.attach(&tables->ids); }
  ~Table() {
    munmap(tables, sizeof *tables);
    close(fd);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  int fd = static_cast<int>(SharedTables::make(100));
  SharedTables* tables = SharedTables::map(fd);
  ProcessIds ids;
};

TEST(ProcessIds, FollowFromTheParentAndTheNumberOfItsChildren) {
  Table one, two;
  for (const std::int32_t parent : {1000, 12'345'678}) {
    std::uint32_t n = 0, m = 0;
    for (int child = 0; child < 100; ++child, ++n, ++m) {
      const std::int32_t number = one.ids.next_child(parent, n);
      EXPECT_EQ(two.ids.next_child(parent, m), number);
      EXPECT_GE(number, ProcessIds::kFirstShown);
      one.ids.bind(number, parent + child + 1);
      two.ids.bind(number, 7 + child);
    }
  }
}

TEST(ProcessIds, AreDifferentAlsoWhereAProcessBeginsToCountAnew) {
  Table table;
  std::set<std::int32_t> seen;
  for (std::int32_t image = 0; image < 3; ++image) {
    std::uint32_t n = 0;
    for (std::int32_t child = 0; child < 500; ++child, ++n) {
      const std::int32_t number = table.ids.next_child(1000, n);
      EXPECT_TRUE(seen.insert(number).second);
      table.ids.bind(number, 2000 + image * 500 + child);
    }
  }
}

TEST(ProcessIds, AreTranslatedBothWaysAndOthersStayWhatTheyAre) {
  Table table;
  std::uint32_t n = 0;
  const std::int32_t number = table.ids.next_child(1000, n);
  EXPECT_EQ(table.ids.shown(4711), 4711);
  EXPECT_EQ(table.ids.real(number), number);
  table.ids.bind(number, 4711);
  table.ids.bind(number, 4711);
  EXPECT_EQ(table.ids.shown(4711), number);
  EXPECT_EQ(table.ids.real(number), 4711);
  EXPECT_EQ(table.ids.real(4711), 4711);
  for (const std::int32_t other : {-1, 0, 1, 4712, number + 1}) {
    EXPECT_EQ(table.ids.shown(other), other);
    EXPECT_EQ(table.ids.real(other), other);
  }
}

TEST(ProcessIds, OfANumberThatTheKernelGaveAgainTheNewestProcessIsShown) {
  Table table;
  std::uint32_t n = 0;
  const std::int32_t old = table.ids.next_child(1000, n);
  table.ids.bind(old, 4711);
  const std::int32_t young = table.ids.next_child(1000, ++n);
  table.ids.bind(young, 4711);
  EXPECT_EQ(table.ids.shown(4711), young);
  table.ids.forget(4711);
  EXPECT_EQ(table.ids.shown(4711), 4711);
  EXPECT_EQ(table.ids.real(old), old);
}

TEST(ProcessIds, AreKnownToAllWhoAttach) {
  Table table;
  const pid_t child = fork();
  if (child == 0) {
    ProcessIds again;
    again.attach(&SharedTables::map(table.fd)->ids);
    again.bind(12'345'678, 4711);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(table.ids.shown(4711), 12'345'678);
}

TEST(ProcessIds, WithoutATableAreTheKernels) {
  ProcessIds none;
  EXPECT_EQ(SharedTables::map(-1), nullptr);
  std::uint32_t n = 0;
  EXPECT_EQ(none.next_child(1000, n), 0);
  none.bind(0, 4711);
  EXPECT_EQ(none.shown(4711), 4711);
}

}  // namespace
}  // namespace zs::engine
