#include "session/events/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

const std::vector<std::string> kNames{"instructions", "branches", "inst_retired.any", "inst_retired.nop",
                                      "mem_inst_retired.all_loads"};

TEST(NearestNames, ComeNearestFirst) {
  EXPECT_THAT(nearest_names("branchs", kNames, 2), ElementsAre("branches", "inst_retired.any"));
}

TEST(NearestNames, BeginWithWhatTheTypedWordBegins) {
  EXPECT_THAT(nearest_names("inst_retired", kNames, 2), ElementsAre("inst_retired.any", "inst_retired.nop"));
}

TEST(NearestNames, FindAnEventByItsUmaskAlone) {
  EXPECT_THAT(nearest_names("all_load", kNames, 1), ElementsAre("mem_inst_retired.all_loads"));
}

TEST(NearestNames, SpeakInCapitalsToThoseWhoDo) {
  EXPECT_THAT(nearest_names("INST_RETIRED.NOPE", kNames, 1), ElementsAre("INST_RETIRED.NOP"));
  EXPECT_THAT(nearest_names("INSTRUCTION", kNames, 1), ElementsAre("instructions"));
}

TEST(NearestNames, AreNotLookedForWhereNoNameIsThatLong) {
  EXPECT_THAT(nearest_names(std::string(81, 'a'), kNames, 3), IsEmpty());
}

}  // namespace
}  // namespace zs::session
