#include "uarch/coherence/sharing_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::uarch {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSharedLine = 0x10000;

SharedAccess access(std::uint64_t linear, std::uint8_t how, std::uint64_t now, bool handed_over) {
  return {.linear = linear,
          .now = now,
          .instruction = 0x401000 + linear,
          .waited = handed_over ? 170U : 0,
          .bytes = 8,
          .access = how,
          .fetched = handed_over,
          .handed_over = handed_over,
          .hitm = handed_over && how == kReads};
}

/// Two threads on two cores take a line from each other so often: one writes at `written`, the other reads at `read`.
void fight(SharingLog& log, std::uint64_t written, std::uint64_t read, int times) {
  log.set_thread(0, 0);
  log.set_thread(1, 1);
  for (int i = 0; i < times; ++i) {
    const std::uint64_t now = 1000 * static_cast<std::uint64_t>(i);
    log.accessed(0, access(written, kWrites, now, true));
    log.accessed(0, access(written, kWrites, now + 10, false));
    log.accessed(1, access(read, kReads, now + 500, true));
  }
}

TEST(SharingLog, AHandOverIsMeantWhereTheOneThatTakesTheLineUsesWhatTheOtherWrote) {
  SharingLog apart, same, reaching_over;
  fight(apart, kSharedLine, kSharedLine + 8, 100);
  fight(same, kSharedLine, kSharedLine, 100);
  fight(reaching_over, kSharedLine, kSharedLine + 4, 100);
  ASSERT_THAT(apart.lines(), SizeIs(1));
  EXPECT_EQ(apart.lines()[0].hand_overs, 200U);
  EXPECT_EQ(apart.lines()[0].meant, 0U);
  EXPECT_EQ(apart.lines()[0].hitm, 100U);
  EXPECT_EQ(apart.lines()[0].unknown, 1U);
  EXPECT_EQ(same.lines()[0].meant, 199U);
  EXPECT_EQ(reaching_over.lines()[0].meant, 199U);
}

TEST(SharingLog, AStintHoldsWhatAThreadDidUntilItHadToFetchTheLineAgain) {
  SharingLog log;
  fight(log, kSharedLine, kSharedLine + 8, 2);
  const LineLog line = log.lines().at(0);
  ASSERT_THAT(line.stints, SizeIs(4));
  EXPECT_EQ(line.stints[0].begin, 0U);
  EXPECT_EQ(line.stints[0].end, 10U);
  EXPECT_EQ(line.stints[0].waited, 170U);
  EXPECT_EQ(line.parts[line.stints[0].first_part].count, 2U);
  EXPECT_EQ(line.stints[1].thread, 1U);
  ASSERT_THAT(line.uses, SizeIs(2));
  EXPECT_EQ(line.uses[0].accesses, 4U);
  EXPECT_TRUE(line.uses[1].reads());
}

TEST(SharingLog, WhoHadTheLineBeforeTheFirstStintIsKept) {
  SharingLog log;
  log.set_thread(0, 7);
  log.set_thread(1, 8);
  SharedAccess taken = access(kSharedLine, kReads, 100, true);
  taken.from = core_bit(0);
  taken.owned = true;
  log.accessed(1, taken);
  taken.from = core_bit(1);
  taken.owned = false;
  log.accessed(0, taken);
  EXPECT_EQ(log.lines().at(0).first_holder, 7U);
  EXPECT_TRUE(log.lines().at(0).first_owned);
  SharedAccess of_several = access(kSharedLine + 64, kWrites, 200, true);
  of_several.from = core_bit(0) | core_bit(2);
  log.accessed(1, of_several);
  EXPECT_EQ(log.lines().at(1).first_holder, kNobody);
}

TEST(SharingLog, AStintSaysHowLongItsStoresHadNoRoomInTheStoreBuffer) {
  SharingLog log;
  log.set_thread(0, 0);
  log.accessed(0, access(kSharedLine, kWrites, 100, true));
  for (std::uint64_t now : {101U, 102U}) {
    SharedAccess held = access(kSharedLine, kWrites, now, false);
    held.held_up = 40'000;
    log.accessed(0, held);
  }
  const Stint stint = log.lines().at(0).stints.at(0);
  EXPECT_EQ(stint.held_up, 65'535U);
  EXPECT_EQ(stint.end, 102U + 40'000U);
}

TEST(SharingLog, ALineBeyondItsRoomIsCountedAndSaysSo) {
  SharingLog log({.stints_of_line = 10});
  fight(log, kSharedLine, kSharedLine + 8, 100);
  const LineLog line = log.lines().at(0);
  EXPECT_EQ(line.hand_overs, 200U);
  EXPECT_THAT(line.stints, SizeIs(10));
  EXPECT_EQ(line.stints_left_out, 190U);
}

TEST(SharingLog, OfManyLinesTheHeavyOnesStay) {
  SharingLog log({.lines = 8});
  fight(log, kSharedLine, kSharedLine + 8, 50);
  for (std::uint64_t other = 1; other < 100; ++other)
    fight(log, kSharedLine + 64 * other, kSharedLine + 64 * other + 8, 1);
  ASSERT_FALSE(log.lines().empty());
  EXPECT_LE(log.lines().size(), 8U);
  EXPECT_EQ(log.lines()[0].linear, kSharedLine);
  std::uint64_t all = log.hand_overs_left_out();
  for (const LineLog& line : log.lines()) all += line.hand_overs;
  EXPECT_EQ(all, 100U + 99 * 2);
}

TEST(SharingLog, BytesGiveTheLogBackAndDamagedOnesAreRefused) {
  SharingLog log;
  fight(log, kSharedLine, kSharedLine + 8, 20);
  LineLog line = log.lines().at(0);
  line.first_holder = 3;
  line.first_owned = true;
  line.stints[0].held_up = 99;
  ByteWriter out;
  encode(line, out);
  ByteReader in(out.bytes());
  const auto read = decode_line_log(in);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, line);
  EXPECT_EQ(in.remaining(), 0U);
  for (std::size_t cut = 0; cut < out.size(); cut += 7) {
    ByteReader shorter(out.bytes().first(cut));
    EXPECT_FALSE(decode_line_log(shorter).has_value()) << cut;
  }
  LineLog wrong = line;
  wrong.parts[0].use = 99;
  ByteWriter damaged;
  encode(wrong, damaged);
  ByteReader of_damaged(damaged.bytes());
  EXPECT_FALSE(decode_line_log(of_damaged).has_value());
}

TEST(SharingLog, ForgettingLeavesNothing) {
  SharingLog log;
  fight(log, kSharedLine, kSharedLine + 8, 20);
  log.forget();
  EXPECT_THAT(log.lines(), IsEmpty());
}

}  // namespace
}  // namespace zs::uarch
