#include "engine/translate/superblock_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace zs::engine {
namespace {

using testing::ElementsAre;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kPc = 0x40'1000;
constexpr std::uint64_t kBegin = 0x6000'0000, kNear = 0x6200'0000;
const Bytes kInc{0xFF, 0xC0}, kTest{0x85, 0xC0}, kRet{0xC3}, kLoad{0x8B, 0x07};

/// Code in pieces, at the addresses that a test gives them.
class Pieces final : public CodeSource {
 public:
  /// returns where it ends
  std::uint64_t put(std::uint64_t pc, const std::vector<Bytes>& insns) {
    for (const Bytes& insn : insns) {
      for (const std::uint8_t byte : insn) bytes_[pc++] = byte;
    }
    return pc;
  }
  std::span<const std::uint8_t> fetch(std::uint64_t pc) override {
    fetched_.clear();
    for (auto at = bytes_.find(pc); at != bytes_.end() && at->first == pc && fetched_.size() < 15; ++at, ++pc)
      fetched_.push_back(at->second);
    return fetched_;
  }
  bool may_change_unseen(std::uint64_t pc) override { return pc == unseen; }
  Probe probe(const Insn& insn) override { return insn.pc == probed ? probe_there : Probe{}; }
  void translated(std::uint64_t /*page*/) override {}

  std::uint64_t unseen = 0, probed = 0;
  Probe probe_there{.time = ProbeTime::Before};

 private:
  std::map<std::uint64_t, std::uint8_t> bytes_;
  Bytes fetched_;
};

class SuperblockBuilderTest : public testing::Test {
 protected:
  const Path& collect(Variant variant = Variant::Full, std::uint64_t pc = kPc) {
    return builder_.collect(pc, variant, options_.max_instructions);
  }
  static std::vector<std::uint64_t> pcs(const Path& path) {
    std::vector<std::uint64_t> pcs;
    for (const PathStep& step : path.steps) pcs.push_back(step.insn.pc - kPc);
    return pcs;
  }
  /// There is a translation of `pc`.
  const Block& add(std::uint64_t pc, Variant variant = Variant::Full) {
    Block block;
    block.pc = pc;
    block.variant = variant;
    block.entry = kBegin + 64 * store_.size();
    store_.begin(block);
    return store_.add(block);
  }
  static void expect_end(const Path& path, ExitKind kind, std::uint64_t offset) {
    EXPECT_FALSE(path.terminated);
    EXPECT_EQ(path.end_kind, kind);
    EXPECT_EQ(path.end_pc, kPc + offset);
  }

  Pieces code_;
  TranslationOptions options_{.max_instructions = 16};
  const AccumulatorSet accumulators_{
      std::vector<arch::EventMeaning>{{.count = [](const arch::Retired& /*insn*/) { return 1u; }}}};  // instructions
  const std::vector<std::uint32_t> units_{0};
  FactCounts fact_counts_{accumulators_};
  BlockStore store_{accumulators_, units_, true, kBegin, kNear};
  SuperblockBuilder builder_{code_, accumulators_, options_, store_, fact_counts_};
};

TEST_F(SuperblockBuilderTest, GoesThroughAJumpAndACallAndBack) {
  code_.put(kPc, {{0xEB, 0x02}});                                    // jmp +4
  code_.put(kPc + 4, {{0xE8, 0x07, 0x00, 0x00, 0x00}, kInc, kRet});  // call +16
  code_.put(kPc + 16, {kTest, kRet});
  const Path& path = collect();
  EXPECT_THAT(pcs(path), ElementsAre(0, 4, 16, 18, 9, 11));
  EXPECT_EQ(path.steps[3].follow_return, kPc + 9);
  EXPECT_EQ(path.steps[5].follow_return, 0u);
  EXPECT_TRUE(path.terminated);
}

TEST_F(SuperblockBuilderTest, GoesStraightOnAtABranchForwardsAndRoundALoop) {
  code_.put(kPc, {kInc, {0x74, 0x10}, kInc, {0x75, 0xF8}, kRet});  // inc; jz +20; inc; jnz 0
  options_.max_instructions = 10;
  const Path& path = collect();
  // Two whole turns: a third would not fit.
  EXPECT_THAT(pcs(path), ElementsAre(0, 2, 4, 6, 0, 2, 4, 6));
  EXPECT_FALSE(path.steps[1].follow_taken);
  EXPECT_TRUE(path.steps[3].follow_taken);
  expect_end(path, ExitKind::Direct, 0);
}

TEST_F(SuperblockBuilderTest, EndsWhereThereIsATranslation) {
  code_.put(kPc, {kInc, kInc, kInc, kRet});
  add(kPc + 4);
  EXPECT_THAT(pcs(collect()), ElementsAre(0, 2));
  expect_end(collect(), ExitKind::Direct, 4);
  EXPECT_THAT(pcs(collect(Variant::UpTo32)), ElementsAre(0, 2, 4, 6));
}

TEST_F(SuperblockBuilderTest, TheWayOfABlockIsGoneAgainWhateverWasTranslatedSince) {
  code_.put(kPc, {kInc, kInc, kInc, kRet});
  const Block block = add(kPc);
  add(kPc + 4);
  for (const bool addresses : {false, true}) {  // with them, the path that was made last is asked for in pieces
    options_.addresses = addresses;
    collect();
    EXPECT_THAT(pcs(builder_.replay(block, 3)), ElementsAre(0, 2, 4));
    EXPECT_THAT(pcs(builder_.replay(block, 4)), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(pcs(builder_.replay(block, 3)), ElementsAre(0, 2, 4));
  }
}

TEST_F(SuperblockBuilderTest, ABlockHasNoMoreSideExitsThanItMay) {
  std::uint64_t at = kPc;
  for (int i = 0; i < 10; ++i) at = code_.put(at, {{0x74, 0x40}});
  EXPECT_EQ(collect().steps.size(), 7u);
}

TEST_F(SuperblockBuilderTest, CodeThatMayChangeIsNotFollowedFromCodeThatMayNot) {
  code_.put(kPc, {{0xEB, 0x02}});
  code_.put(kPc + 4, {kRet});
  code_.unseen = kPc + 4;
  EXPECT_THAT(pcs(collect()), ElementsAre(0));
  expect_end(collect(), ExitKind::Direct, 4);
}

TEST_F(SuperblockBuilderTest, AProbeBeginsABlockOfItsOwn) {
  code_.put(kPc, {kInc, kInc, kRet});
  code_.probed = kPc + 2;
  EXPECT_THAT(pcs(collect()), ElementsAre(0));
  EXPECT_EQ(collect().probe, ProbeTime::None);
  EXPECT_EQ(collect(Variant::Full, kPc + 2).probe, ProbeTime::Before);
  EXPECT_THAT(pcs(collect()), ElementsAre(0));
  code_.probe_there.time = ProbeTime::After;
  EXPECT_THAT(pcs(collect(Variant::Full, kPc + 2)), ElementsAre(2));
  code_.probe_there.stepped = true;
  expect_end(collect(Variant::Full, kPc + 2), ExitKind::NeedsStep, 2);
}

TEST_F(SuperblockBuilderTest, CloseToAnOverflowAFullPathEndsAtTheLastPlaceWhereAWholeBlockBegins) {
  std::vector<Bytes> many(40, kInc);
  code_.put(kPc, many);
  options_ = {.max_instructions = 32, .brakes = true, .form = TraceForm::Budget};
  EXPECT_EQ(collect(Variant::Near).steps.size(), 32u);
  add(kPc + 2 * 10);  // too short a path
  add(kPc + 2 * 20);
  EXPECT_EQ(collect(Variant::Near).steps.size(), 20u);
}

TEST_F(SuperblockBuilderTest, WithoutAPlaceForABrakeAPathIsShort) {
  std::vector<Bytes> many(40, kLoad);
  code_.put(kPc, many);
  options_ = {.max_instructions = 32, .brakes = true, .form = TraceForm::Budget};
  EXPECT_EQ(collect().steps.size(), options_.most_unbraked());
  many[5] = {0x39, 0xC8};  // cmp eax, ecx
  code_.put(kPc, many);
  EXPECT_EQ(collect().steps.size(), 32u);
}

TEST_F(SuperblockBuilderTest, WithACoreModelAFullPathEndsBehindABranch) {
  code_.put(kPc, {kInc, {0x74, 0x40}, kInc, kInc, kInc, kInc});
  options_ = {.max_instructions = 4, .form = TraceForm::Spaced, .addresses = true};
  EXPECT_THAT(pcs(collect()), ElementsAre(0, 2));
  EXPECT_THAT(pcs(collect(Variant::Full, kPc + 4)), ElementsAre(4, 6, 8, 10));
}

TEST(QuietPaths, EndBeforeWhatAllInstructionsDoNotHave) {
  Pieces code;
  code.put(kPc, {kInc, kTest, kLoad, kInc});
  const TranslationOptions options{.max_instructions = 16, .form = TraceForm::Spaced};
  const AccumulatorSet accumulators(std::vector<arch::EventMeaning>{
      {.count = [](const arch::Retired& /*insn*/) { return 1u; }},
      {.count = [](const arch::Retired& insn) { return static_cast<std::uint32_t>(insn.loads); }}});
  const std::vector<std::uint32_t> near{8, 2}, far{8, 0};
  for (const auto& [units, end] : {std::pair{near, 4U}, {far, 8U}}) {
    BlockStore store(accumulators, units, true, kBegin, kNear);
    FactCounts fact_counts(accumulators);
    SuperblockBuilder builder(code, accumulators, options, store, fact_counts);
    const Path& path = builder.collect(kPc, Variant::Quiet, 16);
    EXPECT_EQ(path.end_pc, kPc + end);
    EXPECT_EQ(path.end_kind, end == 4 ? ExitKind::NeedsStep : ExitKind::Unfetchable);
    EXPECT_EQ(builder.collect(kPc, Variant::Full, 16).end_pc, kPc + 8) << "which is what others do";
  }
}

TEST_F(SuperblockBuilderTest, WhatMaySetTheTrapFlagRunsAlone) {
  for (const Bytes& bytes : {Bytes{0x9D}, Bytes{0x48, 0xCF}}) {  // popfq, iretq
    code_.put(kPc, {kInc, bytes});
    expect_end(collect(), ExitKind::NeedsStep, 2);
  }
}

TEST_F(SuperblockBuilderTest, WhatTheEngineAnswersInMemoryRunsAlone) {
  for (const Bytes& bytes : {Bytes{0x0F, 0xA0}, Bytes{0x0F, 0xA1}, Bytes{0x0F, 0xB4, 0x03}}) {  // push, pop, lfs
    code_.put(kPc, {kInc, bytes});
    expect_end(collect(), ExitKind::NeedsStep, 2);
  }
}

TEST_F(SuperblockBuilderTest, SaysWhyAPathCannotGoOn) {
  code_.put(kPc, {kInc, {0x0F, 0x34}});  // sysenter
  expect_end(collect(), ExitKind::Refused, 2);
  code_.put(kPc + 2, {{0x06, 0x90}});  // no instruction
  expect_end(collect(), ExitKind::Undecodable, 2);
  Pieces cut;
  cut.put(kPc, {kInc, {0x48}});  // the rest is not executable
  SuperblockBuilder of_cut(cut, accumulators_, options_, store_, fact_counts_);
  expect_end(of_cut.collect(kPc, Variant::Full, 8), ExitKind::Unfetchable, 2);
}

}  // namespace
}  // namespace zs::engine
