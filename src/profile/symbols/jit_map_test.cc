#include "profile/symbols/jit_map.h"

#include <gtest/gtest.h>

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
  SymbolTable table;
  EXPECT_FALSE(read_jit_map("/dev/zero", table));
  EXPECT_FALSE(read_jit_map("/nowhere/perf-1.map", table));
  EXPECT_EQ(jit_map_path(42), "/tmp/perf-42.map");
}

}  // namespace
}  // namespace zs::profile
