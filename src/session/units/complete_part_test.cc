#include "session/units/complete_part.h"

#include <gtest/gtest.h>

namespace zs::session {
namespace {

constexpr std::uint64_t kPiece = 50'000, kUnits = 80;

/// Pieces of one cycle an instruction, and in one of so many of `slow` cycles.
CompletePart pieces(int number, int one_in, std::uint64_t slow) {
  CompletePart part;
  for (int i = 0; i < number; ++i) part.add(kPiece, {.cycles = i % one_in == 0 ? slow * kPiece : kPiece});
  return part;
}

TEST(CompletePart, IsUnsteadyWherePiecesAreUnlikeEachOther) {
  EXPECT_FALSE(pieces(200, 10, 1).unsteady(kUnits));
  EXPECT_FALSE(pieces(200, 10, 2).unsteady(kUnits));
  EXPECT_TRUE(pieces(200, 10, 8).unsteady(kUnits));
  EXPECT_FALSE(pieces(200, 10, 8).unsteady(100 * kUnits)) << "a hundred times as many units give a tenth of the error";
}

TEST(CompletePart, DoesNotJudgeByHowAProgramStarts) {
  CompletePart part;
  for (int i = 0; i < 40; ++i) part.add(kPiece, {.cycles = 10 * kPiece});
  EXPECT_FALSE(part.unsteady(kUnits)) << "nothing else is known";
  for (int i = 0; i < 40; ++i) part.add(kPiece, {.cycles = kPiece});
  EXPECT_FALSE(part.unsteady(kUnits));
  EXPECT_EQ(part.instructions(), 80 * kPiece);
}

TEST(CompletePart, IsContendedWhereLinesOfOthersCostMoreThanATwentieth) {
  CompletePart part;
  part.add(kPiece, {.cycles = 100'000, .for_others = 4'900});
  EXPECT_FALSE(part.contended());
  part.add(kPiece, {.cycles = 100'000, .for_others = 5'100});
  EXPECT_TRUE(part.contended());
  EXPECT_FALSE(part.contended()) << "since it was last asked";
}

}  // namespace
}  // namespace zs::session
