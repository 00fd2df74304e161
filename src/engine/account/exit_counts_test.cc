// What an exact profile says of a trace.
#include "engine/account/exit_counts.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <utility>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// test eax, eax; jz to the next page; inc ecx; jmp rcx. inc ecx, five times; ret.
constexpr std::uint64_t kBranchy = 0, kPlain = 2;

class ExitCountsTest : public RunTest {
 protected:
  ExitCountsTest() {
    code_.put(kBranchy, {0x85, 0xC0, 0x0F, 0x84, 0xF8, 0x0F, 0x00, 0x00, 0xFF, 0xC1, 0xFF, 0xE1});
    code_.put(kPlain, {0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xFF, 0xC1, 0xC3});
    cpu_.pmus = {};
    cpu_.counts_paths = true;
    start();
    branchy_ = made(kBranchy);
    plain_ = made(kPlain);
  }
  /// All that was told so far, by instruction or branch.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> told() const {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> sums;
    for (const arch::PathCount& count : heard_.ran_counts) sums[{count.from, count.to}] += count.times;
    return sums;
  }
  void end() {
    drain();
    accountant_.exits.end(*run_.thread);
  }
  static std::uint64_t at(std::uint64_t page, std::uint64_t offset) { return Pages::pc(page) + offset; }

  std::uint32_t branchy_ = 0, plain_ = 0;  // blocks
};

TEST_F(ExitCountsTest, AnInstructionRanAsOftenAsTheExitsBehindItWereLeftBy) {
  for (int i = 0; i < 3; ++i) leave(side_exit_of(branchy_));
  for (int i = 0; i < 2; ++i) {
    leave(end_of(branchy_));
    leave(end_of(plain_));
  }
  run_.indirect_target = 0x1234;
  end();
  EXPECT_THAT(told(),
              UnorderedElementsAre(
                  Pair(Pair(at(kBranchy, 0), 0), 5), Pair(Pair(at(kBranchy, 2), 0), 5),
                  Pair(Pair(at(kBranchy, 8), 0), 2), Pair(Pair(at(kBranchy, 10), 0), 2),
                  Pair(Pair(at(kBranchy, 2), at(kBranchy + 1, 0)), 3),  // the branch that was taken
                  Pair(Pair(at(kBranchy, 10), at(kPlain, 0)), 2),       // where the next record begins
                  Pair(Pair(at(kPlain, 0), 0), 2), Pair(Pair(at(kPlain, 2), 0), 2), Pair(Pair(at(kPlain, 4), 0), 2),
                  Pair(Pair(at(kPlain, 6), 0), 2), Pair(Pair(at(kPlain, 8), 0), 2), Pair(Pair(at(kPlain, 10), 0), 2),
                  Pair(Pair(at(kPlain, 10), at(kBranchy, 0)), 1),
                  Pair(Pair(at(kPlain, 10), 0x1234), 1)));  // behind the last record the dispatcher knows
}

TEST_F(ExitCountsTest, OfABlockThatFaultedItsFirstInstructionsCount) {
  accountant_.count_into(plain_, 2, at(kPlain, 4));
  end();
  EXPECT_THAT(told(), UnorderedElementsAre(Pair(Pair(at(kPlain, 0), 0), 1), Pair(Pair(at(kPlain, 2), 0), 1)));
}

TEST_F(ExitCountsTest, WhatIsWantedOfAnInstructionLaterDoesNotShortenThePathThatRan) {
  leave(end_of(plain_));
  run_.indirect_target = 0x1234;
  drain();
  code_.probes = [](const Insn&) { return Probe{.time = ProbeTime::Before, .stepped = true}; };
  end();
  EXPECT_THAT(told(), testing::Contains(Pair(Pair(at(kPlain, 10), 0), 1)));
  EXPECT_THAT(heard_.notices, IsEmpty());
}

TEST_F(ExitCountsTest, WhatIsNotWantedIsNotTold) {
  bool wanted = false;
  run_.thread->cpu.paths_wanted = &wanted;
  leave(end_of(plain_));
  run_.indirect_target = 0x1234;
  drain();
  wanted = true;
  leave(side_exit_of(branchy_));
  drain();
  wanted = false;
  leave(side_exit_of(branchy_));
  end();
  EXPECT_THAT(told(), UnorderedElementsAre(Pair(Pair(at(kBranchy, 0), 0), 1), Pair(Pair(at(kBranchy, 2), 0), 1),
                                           Pair(Pair(at(kBranchy, 2), at(kBranchy + 1, 0)), 1)));
}

TEST_F(ExitCountsTest, WhatRanIsToldBeforeItsCodeChanges) {
  leave(side_exit_of(branchy_));
  drain();
  EXPECT_THAT(told(), IsEmpty());
  run_.invalidate(at(kBranchy, 0), at(kBranchy, 12));
  EXPECT_EQ(told().size(), 3U);
  end();
  EXPECT_EQ(told().size(), 3U) << "and not again";
}

TEST_F(ExitCountsTest, WhatRanIsToldBeforeAllTranslationsGo) {
  leave(side_exit_of(branchy_));
  drain();
  run_.flush();
  EXPECT_EQ(told().size(), 3U);
}

TEST_F(ExitCountsTest, AChildTellsNothingOfItsParent) {
  leave(side_exit_of(branchy_));
  drain();
  accountant_.exits.forget();
  end();
  EXPECT_THAT(told(), IsEmpty());
}

}  // namespace
}  // namespace zs::engine
