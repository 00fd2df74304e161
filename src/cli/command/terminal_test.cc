#include "cli/command/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace zs::cli {
namespace {

constexpr int kNoTerminal = -1;

class Colour : public testing::Test {
 protected:
  Colour() {
    for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "TERM"}) unsetenv(name);
  }
};

TEST_F(Colour, IsForTerminalsOnly) { EXPECT_FALSE(use_colour(ColourChoice::Auto, kNoTerminal)); }

TEST_F(Colour, CanBeForcedByTheEnvironment) {
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(use_colour(ColourChoice::Auto, kNoTerminal));
  setenv("CLICOLOR_FORCE", "0", 1);
  EXPECT_FALSE(use_colour(ColourChoice::Auto, kNoTerminal));
}

TEST_F(Colour, NoColorWinsOverForce) {
  setenv("NO_COLOR", "1", 1);
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_FALSE(use_colour(ColourChoice::Auto, kNoTerminal));
}

TEST_F(Colour, AnEmptyNoColorSaysNothing) {
  setenv("NO_COLOR", "", 1);
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(use_colour(ColourChoice::Auto, kNoTerminal));
}

TEST_F(Colour, AnExplicitChoiceWinsOverEverything) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(use_colour(ColourChoice::Always, kNoTerminal));
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_FALSE(use_colour(ColourChoice::Never, kNoTerminal));
}

TEST_F(Colour, HasThreeChoices) {
  ColourChoice choice = ColourChoice::Auto;
  EXPECT_TRUE(parse_colour("never", choice));
  EXPECT_EQ(choice, ColourChoice::Never);
  EXPECT_FALSE(parse_colour("sometimes", choice));
}

}  // namespace
}  // namespace zs::cli
