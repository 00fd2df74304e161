#include "report/text/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::report {
namespace {

using ::testing::ElementsAre;

TEST(Fit, TakesTheMiddleOutOfANameThatIsTooLong) {
  EXPECT_EQ(shortened("Ledger::post", 12), "Ledger::post");
  EXPECT_EQ(shortened("Ledger::post", 11), "Ledge..post");
  EXPECT_EQ(shortened("Ledger::post", 3), "L..");
  EXPECT_EQ(shortened("Ledger::post", 2), "Le");
  EXPECT_EQ(shortened("", 0), "");
}

TEST(Fit, CountsCharactersAndCutsNoneInTwo) {
  EXPECT_EQ(display_width("Größe"), 5u);
  EXPECT_EQ(shortened("ääääää", 5), "ää..ä");
  EXPECT_EQ(cut_off("int größe = 0;", 8), "int gr..");
}

TEST(Fit, MakesBlanksOfTabs) {
  EXPECT_EQ(without_tabs("a\tb\t\tc"), "a       b               c");
  EXPECT_EQ(without_tabs("ä\tb"), "ä       b");
}

TEST(Fit, TakesFromTheWidestColumnFirst) {
  EXPECT_THAT(fitting_widths({{10, 4}, {50, 12}, {20, 12}}, 2, 86), ElementsAre(10, 50, 20));
  EXPECT_THAT(fitting_widths({{10, 4}, {50, 12}, {20, 12}}, 2, 60), ElementsAre(10, 24, 20));
  EXPECT_THAT(fitting_widths({{10, 4}, {50, 12}, {20, 12}}, 2, 46), ElementsAre(10, 15, 15));
}

TEST(Fit, LeavesOutTheLastColumnsWhereNothingElseHelps) {
  EXPECT_THAT(fitting_widths({{10, 4}, {50, 12}, {20, 12}}, 2, 25), ElementsAre(9, 12));
  EXPECT_THAT(fitting_widths({{10, 10}, {50, 12}}, 2, 5), ElementsAre(10));
}

TEST(Fit, ProseGoesOnWhereAWordEnds) {
  EXPECT_EQ(folded("one two three\n", 20), "one two three\n");
  EXPECT_EQ(folded("one two three\nfour", 9), "one two\n  three\nfour");
  EXPECT_EQ(folded("# one two three\n", 11), "# one two\n#   three\n");
  EXPECT_EQ(folded("   one two three", 11), "   one two\n     three") << "indented as the line is, and by two";
  EXPECT_EQ(folded("one \033[2m# two three\033[0m\n", 9), "one \033[2m# two\n  three\033[0m\n")
      << "colours take no room";
  EXPECT_EQ(folded("abcdefghij", 6), "abcdef\n  ghij") << "a word that is wider than all";
  EXPECT_EQ(folded("one two three", 0), "one two three");
}

}  // namespace
}  // namespace zs::report
