#include "profile/symbols/jit_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "profile/perf_data/test_recordings.h"

namespace zs::profile {
namespace {

std::string name_at(const SymbolTable& table, std::uint64_t address) {
  const Symbol* found = table.find(ImageAddress{address});
  return found != nullptr ? found->name() : "none";
}

TEST(JitMap, NamesTheCodeOfEachLine) {
  const SymbolTable table =
      parse_jit_map("7f0000001000 40 LazyCompile:*sum /app.js:3\n0x7f0000001040 0x20 two words\r\n");
  EXPECT_EQ(name_at(table, 0x7f0000001000), "LazyCompile:*sum /app.js:3");
  EXPECT_EQ(name_at(table, 0x7f000000103f), "LazyCompile:*sum /app.js:3");
  EXPECT_EQ(name_at(table, 0x7f0000001040), "two words");
  EXPECT_EQ(name_at(table, 0x7f0000001060), "none");
}

TEST(JitMap, LetsALaterLineReplaceEarlierOnes) {
  const SymbolTable table = parse_jit_map("1000 100 old\n1100 100 other\n1080 100 new\n");
  EXPECT_EQ(name_at(table, 0x107f), "old");
  EXPECT_EQ(name_at(table, 0x1080), "new");
  EXPECT_EQ(name_at(table, 0x117f), "new");
  EXPECT_EQ(name_at(table, 0x1180), "none");
}

TEST(JitMap, PassesOverLinesThatSayNothing) {
  const SymbolTable table =
      parse_jit_map("\nhello\n1000\n1000 10\n1000 10 \n1000 0 empty\nffffffffffffffff 10 wraps\n2000 10 good");
  ASSERT_EQ(table.symbols().size(), 1u);
  EXPECT_EQ(name_at(table, 0x2000), "good");
}

TEST(JitMap, IsNotReadFromWhatIsNoFile) {
  std::string problem;
  EXPECT_FALSE(read_jit_map("/dev/zero", {}, problem));
  EXPECT_EQ(problem, "/dev/zero: no regular file; it is passed over");
  problem.clear();
  EXPECT_FALSE(read_jit_map("/nowhere/perf-1.map", {}, problem));
  EXPECT_EQ(problem, "");
  EXPECT_EQ(jit_map_path(42), "/tmp/perf-42.map");
}

TEST(JitMap, OfAnotherProcessIsPassedOver) {
  const testing::TemporaryDirectory here;
  const std::string path = here / "perf-1.map";
  std::ofstream(path) << "1000 10 name\n";
  const auto read = [&](const JitMapTimes& times) {
    std::string problem;
    const auto text = read_jit_map(path, times, problem);
    return text ? *text : problem.substr(path.size());
  };
  EXPECT_EQ(read({}), "1000 10 name\n");
  const std::int64_t year = std::int64_t{365 * 86'400} * 1'000'000'000;
  const std::int64_t now = std::int64_t{time(nullptr)} * 1'000'000'000;
  EXPECT_EQ(read({.written_from = now - year, .made_until = now + year}), "1000 10 name\n");
  EXPECT_EQ(read({.written_from = now + year}),
            ": was written before the recording began, by another process; it is passed over");
  EXPECT_EQ(read({.made_until = now - year}),
            ": was made after the recording ended, by another process; it is passed over");
  if (geteuid() != 0) return;  // only root can give files away
  ASSERT_EQ(chown(path.c_str(), 4711, 4711), 0);
  EXPECT_EQ(read({}), ": belongs to user 4711, and neither to you nor to root; it is passed over") << "root's too";
}

}  // namespace
}  // namespace zs::profile
