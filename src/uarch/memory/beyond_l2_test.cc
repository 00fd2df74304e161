#include "uarch/memory/beyond_l2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::uarch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(BeyondL2, TellsOnceOfWhatIsNotedInTwoStretches) {
  BeyondL2 noted;
  noted.skipped();
  for (const std::uint64_t pc : {1, 1, 1, 2}) noted.note(pc);
  EXPECT_THAT(noted.take(), IsEmpty());
  noted.skipped();
  for (const std::uint64_t pc : {1, 3, 1}) noted.note(pc);
  EXPECT_THAT(noted.take(), ElementsAre(1));
  EXPECT_TRUE(noted.reported(1));
  EXPECT_FALSE(noted.reported(3));
  noted.skipped();
  for (const std::uint64_t pc : {1, 2, 3}) noted.note(pc);
  EXPECT_THAT(noted.take(), ElementsAre(2, 3));
  EXPECT_THAT(noted.take(), IsEmpty());
}

TEST(BeyondL2, WhatRunsBeforeAnythingIsSkippedDoesNotCount) {
  BeyondL2 noted;
  noted.note(1);
  noted.skipped();
  noted.note(1);
  EXPECT_THAT(noted.take(), IsEmpty());
}

}  // namespace
}  // namespace zs::uarch
