#include "events/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <utility>

namespace zs::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The classic table, all of it.
std::size_t plain_distance(std::string_view typed, std::string_view meant) {
  std::vector<std::vector<std::size_t>> table(typed.size() + 1, std::vector<std::size_t>(meant.size() + 1));
  const auto same = [&](std::size_t i, std::size_t j) {
    return std::tolower(static_cast<unsigned char>(typed[i - 1])) ==
           std::tolower(static_cast<unsigned char>(meant[j - 1]));
  };
  for (std::size_t i = 0; i <= typed.size(); ++i) {
    for (std::size_t j = 0; j <= meant.size(); ++j) {
      std::size_t best = i == 0 && j == 0 ? 0 : 1000;
      if (i > 0) best = std::min(best, table[i - 1][j] + 2);
      if (j > 0) best = std::min(best, table[i][j - 1] + 1);
      if (i > 0 && j > 0) best = std::min(best, table[i - 1][j - 1] + (same(i, j) ? 0 : 2));
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) best = std::min(best, table[i - 2][j - 2] + 1);
      table[i][j] = best;
    }
  }
  return table[typed.size()][meant.size()];
}

/// Of few letters, so that much is equal, and often with a dot.
std::string random_word(std::mt19937& random) {
  constexpr std::string_view kLetters = "aAbBcd_.";
  std::string word(random() % 15, ' ');
  for (char& c : word) c = kLetters[random() % kLetters.size()];
  return word;
}

TEST(TypingDistance, IsZeroForTheSameWordInAnyCase) {
  EXPECT_EQ(typing_distance("", ""), 0u);
  EXPECT_EQ(typing_distance("Branches", "bRANCHES"), 0u);
}

TEST(TypingDistance, PricesEachKindOfMistake) {
  EXPECT_EQ(typing_distance("brnches", "branches"), 1u);    // left out
  EXPECT_EQ(typing_distance("brnaches", "branches"), 1u);   // swapped
  EXPECT_EQ(typing_distance("brunches", "branches"), 2u);   // wrong
  EXPECT_EQ(typing_distance("brranches", "branches"), 2u);  // too many
  EXPECT_EQ(typing_distance("", "abc"), 3u);
  EXPECT_EQ(typing_distance("abc", ""), 6u);
}

TEST(TypingDistance, IsExactUpToTheLimitAndBeyondItOnlyLarger) {
  const std::vector<std::string> words{"instrs", "instructions", "insturctions", "branches", "nrbcahse", "", "any_p"};
  for (const std::string& typed : words) {
    for (const std::string& meant : words) {
      const std::size_t exact = typing_distance(typed, meant);
      for (std::size_t limit = 0; limit < 20; ++limit) {
        const std::size_t bounded = typing_distance(typed, meant, limit);
        EXPECT_TRUE(exact <= limit ? bounded == exact : bounded > limit) << typed << " " << meant << " " << limit;
      }
    }
  }
}

TEST(TypingDistance, OfRandomWordsIsThatOfTheWholeTable) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string typed = random_word(random), meant = random_word(random);
    const std::size_t exact = plain_distance(typed, meant), limit = random() % 24;
    ASSERT_EQ(typing_distance(typed, meant), exact) << typed << " " << meant;
    const std::size_t bounded = typing_distance(typed, meant, limit);
    ASSERT_TRUE(exact <= limit ? bounded == exact : bounded > limit) << typed << " " << meant << " " << limit;
  }
}

const std::vector<std::string> kKnownNames{"instructions", "branches", "inst_retired.any", "inst_retired.nop",
                                           "mem_inst_retired.all_loads"};

TEST(NearestNames, ComeNearestFirst) {
  EXPECT_THAT(nearest_names("branchs", kKnownNames, 2), ElementsAre("branches", "inst_retired.any"));
}

TEST(NearestNames, BeginWithWhatTheTypedWordBegins) {
  EXPECT_THAT(nearest_names("inst_retired", kKnownNames, 2), ElementsAre("inst_retired.any", "inst_retired.nop"));
}

TEST(NearestNames, FindAnEventByItsUmaskAlone) {
  EXPECT_THAT(nearest_names("all_load", kKnownNames, 1), ElementsAre("mem_inst_retired.all_loads"));
}

TEST(NearestNames, SpeakInCapitalsToThoseWhoDo) {
  EXPECT_THAT(nearest_names("INST_RETIRED.NOPE", kKnownNames, 1), ElementsAre("INST_RETIRED.NOP"));
  EXPECT_THAT(nearest_names("INSTRUCTION", kKnownNames, 1), ElementsAre("instructions"));
}

TEST(NearestNames, AreThoseThatALookAtAllOfThemFinds) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> names(20);
    for (std::string& name : names) {
      name = random_word(random);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    }
    const std::string typed = random_word(random) + "a";  // with a small letter: nothing is told in capitals
    std::vector<std::pair<std::size_t, std::string>> all;
    for (const std::string& name : names) {
      std::size_t distance = plain_distance(typed, name);
      const std::size_t dot = name.find('.');
      if (dot != std::string::npos) distance = std::min(distance, plain_distance(typed, name.substr(dot + 1)) + 1);
      if (typed.size() >= 3 && plain_distance(typed, name.substr(0, typed.size())) == 0) distance = 0;
      all.emplace_back(distance, name);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<std::string> nearest;
    for (std::size_t n = 0; n < 3; ++n) nearest.push_back(all[n].second);
    ASSERT_EQ(nearest_names(typed, names, 3), nearest) << typed;
  }
}

TEST(NearestNames, AreNotLookedForWhereNoNameIsThatLong) {
  EXPECT_THAT(nearest_names(std::string(81, 'a'), kKnownNames, 3), IsEmpty());
}

}  // namespace
}  // namespace zs::session
