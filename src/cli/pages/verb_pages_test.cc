#include "cli/pages/verb_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::cli {
namespace {

using testing::ElementsAre;
using Kind = Offer::Kind;

const OptionTable kTable{.known = {{.placeholder = "KEY", .title = "Keys", .words = {"comm", "dso"}}}};

TEST(OfferFor, APlaceholderThatNamesAKindOfThing) {
  EXPECT_EQ(offer_for(kTable, "FILE").kind, Kind::Files);
  EXPECT_EQ(offer_for(kTable, "FILE [ARGS]").kind, Kind::Files);
  EXPECT_EQ(offer_for(kTable, "EVENTS").kind, Kind::Events);
  EXPECT_TRUE(offer_for(kTable, "METRICS").list);
  EXPECT_FALSE(offer_for(kTable, "MODEL").list);
  EXPECT_EQ(offer_for(kTable, "N").kind, Kind::Nothing);
  EXPECT_EQ(offer_for(kTable, "").kind, Kind::Nothing);
}

TEST(OfferFor, ChoicesAreThoseInSmallLetters) {
  EXPECT_THAT(offer_for(kTable, "auto|always|never").words, ElementsAre("auto", "always", "never"));
  EXPECT_THAT(offer_for(kTable, "fp|dwarf[,BYTES]|lbr").words, ElementsAre("fp", "dwarf", "lbr"));
  EXPECT_THAT(offer_for(kTable, "stdio|FILE").words, ElementsAre("stdio"));
}

TEST(OfferFor, KnownWordsAreAListWhereSeveralMayStand) {
  const Offer offer = offer_for(kTable, "KEY[,KEY...]");
  EXPECT_THAT(offer.words, ElementsAre("comm", "dso"));
  EXPECT_TRUE(offer.list);
  EXPECT_FALSE(offer_for(kTable, "KEY").list);
}

TEST(VerbPages, EveryVerbDeclaresWhatItTakes) {
  for (const VerbPage& page : all_verb_pages()) {
    EXPECT_NE(page.table.about, "") << page.verb->name;
    EXPECT_TRUE(!page.table.options.empty() || !page.parts.empty()) << page.table.verb;
    for (const OptionRow& row : page.table.options) EXPECT_NE(row.help, "") << page.table.verb << row.names.front();
  }
}

}  // namespace
}  // namespace zs::cli
