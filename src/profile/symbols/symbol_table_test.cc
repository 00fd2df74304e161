#include "profile/symbols/symbol_table.h"

#include <gtest/gtest.h>

namespace zs::profile {
namespace {

using enum Symbol::Binding;

std::string own_name_at(const SymbolTable& table, std::uint64_t address) {
  const Symbol* found = table.find(ImageAddress{address});
  return found != nullptr ? found->name() : "none";
}

TEST(SymbolTable, FindsTheSymbolThatHoldsAnAddress) {
  SymbolTable table;
  table.add(ImageAddress{0x2000}, 0x10, "b", Global, true);
  table.add(ImageAddress{0x1000}, 0x10, "a", Global, true);
  table.finish(ImageAddress{0x3000});
  EXPECT_EQ(own_name_at(table, 0xFFF), "none");
  EXPECT_EQ(own_name_at(table, 0x1000), "a");
  EXPECT_EQ(own_name_at(table, 0x100F), "a");
  EXPECT_EQ(own_name_at(table, 0x1010), "none");
  EXPECT_EQ(own_name_at(table, 0x2008), "b");
}

TEST(SymbolTable, KnowsWhatWasSplitOffOfAFunction) {
  const auto whole = [](const char* linked) {
    Symbol symbol;
    symbol.linkage_name = linked;
    EXPECT_EQ(symbol.is_split_off(), symbol.whole_function() != linked);
    return std::string(symbol.whole_function());
  };
  EXPECT_EQ(whole("split.cold"), "split");
  EXPECT_EQ(whole("split.cold.12"), "split");
  EXPECT_EQ(whole("_Z3runRKSt8functionIFiiEEi.cold"), "_Z3runRKSt8functionIFiiEEi");
  EXPECT_EQ(whole("run.part.0.cold"), "run.part.0");
  for (const char* const function :
       {"run", "run.part.0", "run.constprop.0", ".cold", "run.colder", "run.cold.x", "run.cold."})
    EXPECT_EQ(whole(function), function);
}

TEST(SymbolTable, LetsASymbolWithoutSizeReachToTheNext) {
  SymbolTable table;
  table.add(ImageAddress{0x1000}, 0, "label", Local, true);
  table.add(ImageAddress{0x1100}, 0, "last", Local, true);
  table.finish(ImageAddress{0x1180});
  EXPECT_EQ(own_name_at(table, 0x10FF), "label");
  EXPECT_EQ(own_name_at(table, 0x117F), "last");
  EXPECT_EQ(own_name_at(table, 0x1180), "none");
}

TEST(SymbolTable, GoesOnWithTheLongerSymbolBehindOneThatLiesInIt) {
  SymbolTable table;
  table.add(ImageAddress{0x1000}, 0x100, "outer", Global, true);
  table.add(ImageAddress{0x1040}, 0x10, "entry", Global, true);
  table.finish(ImageAddress{0x2000});
  EXPECT_EQ(own_name_at(table, 0x1048), "entry");
  EXPECT_EQ(own_name_at(table, 0x1050), "outer");
}

TEST(SymbolTable, NamesAFunctionWithoutASymbolByWhereItBegins) {
  SymbolTable table;
  table.add(ImageAddress{0x1000}, 0x100, "sized", Global, true);
  table.add(ImageAddress{0x1200}, 0, "label", Global, true);
  for (const std::uint64_t start : {0x1000, 0x1040, 0x1100, 0x1200, 0x1300}) {
    table.add_without_symbol(ImageAddress{start}, 0x20);
  }
  table.add_without_symbol(ImageAddress{0x1400}, 0x20, "main.work");
  table.finish(ImageAddress{0x2000});
  EXPECT_EQ(own_name_at(table, 0x1410), "main.work");
  EXPECT_EQ(own_name_at(table, 0x1010), "sized");
  EXPECT_EQ(own_name_at(table, 0x1050), "sized");  // a part of it has an entry of its own
  EXPECT_EQ(own_name_at(table, 0x1100), "func@0x1100");
  EXPECT_EQ(own_name_at(table, 0x111F), "func@0x1100");
  EXPECT_EQ(own_name_at(table, 0x1120), "none");
  EXPECT_EQ(own_name_at(table, 0x12FF), "label");  // until the function behind it, as far as it may reach
  EXPECT_EQ(own_name_at(table, 0x1300), "func@0x1300");
}

TEST(SymbolTable, ChoosesAmongAliasesAsPerfDoes) {
  struct Case {
    const char* what;
    std::string winner;
    std::uint64_t winner_size;
    Symbol::Binding winner_binding;
    std::string loser;
    std::uint64_t loser_size;
    Symbol::Binding loser_binding;
  };
  const Case cases[] = {
      {"one with a size", "x", 8, Weak, "__longer", 0, Global},
      {"not the weak one", "a", 8, Local, "bb", 8, Weak},
      {"the global one", "a", 8, Global, "bb", 8, Local},
      {"fewer underscores", "memcpy", 8, Global, "__memcpy_chk", 8, Global},
      {"the longer name", "malloc_usable", 8, Global, "malloc", 8, Global},
  };
  for (const Case& one : cases) {
    for (const bool winner_first : {true, false}) {
      SymbolTable table;
      if (winner_first) table.add(ImageAddress{1}, one.winner_size, one.winner, one.winner_binding, true);
      table.add(ImageAddress{1}, one.loser_size, one.loser, one.loser_binding, true);
      if (!winner_first) table.add(ImageAddress{1}, one.winner_size, one.winner, one.winner_binding, true);
      table.finish(ImageAddress{100});
      EXPECT_EQ(own_name_at(table, 1), one.winner) << one.what;
    }
  }
}

TEST(SymbolTable, PassesOverASymbolThatWrapsAround) {
  SymbolTable table;
  table.add(ImageAddress{UINT64_MAX - 4}, 10, "wraps", Global, true);
  table.add(ImageAddress{1}, 1, "", Global, true);
  table.finish(ImageAddress{100});
  EXPECT_TRUE(table.symbols().empty());
}

}  // namespace
}  // namespace zs::profile
