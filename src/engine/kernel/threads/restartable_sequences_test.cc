// Restartable sequences: where a thread goes on that was interrupted in one, and what is no description of one. What
// rseq() answers is compared with the kernel by the guest restartable_sequences.
#include "engine/kernel/threads/restartable_sequences.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

class RestartableSequencesTest : public RunTest {
 protected:
  static constexpr std::uint32_t kSize = 32, kSignature = 0x5305'3053, kNowhere = ~std::uint32_t{0};
  static constexpr std::uint64_t kStart = 0x40'1000, kLength = 0x20;
  struct alignas(32) Area {
    std::uint32_t first_processor = 77, processor = 77;
    std::uint64_t sequence = 77;
    std::uint32_t flags = 0, node = 77, more[2] = {77, 77};
  };
  struct alignas(32) Sequence {
    std::uint32_t version = 0, flags = 0;
    std::uint64_t start = kStart, length = kLength, abort = 0;
  };

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    sequence_.abort = at(&code_[1]);
    ASSERT_EQ(register_sequences(run_, at(&area_), kSize, 0, kSignature), 0);
  }
  static std::uint64_t at(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
  /// The thread is interrupted at `pc`, in or behind the sequence.
  bool interrupt(std::uint64_t pc) {
    area_.sequence = at(&sequence_);
    run_.thread->pc = pc;
    return restart_sequence(run_);
  }

  Area area_;
  Sequence sequence_;
  std::uint32_t code_[2] = {kSignature, 0};
};

TEST_F(RestartableSequencesTest, WhoRegistersIsToldItsProcessorAtOnce) {
  EXPECT_EQ(area_.sequence, 0U);
  EXPECT_LT(area_.processor, 4096U);
  EXPECT_EQ(area_.first_processor, area_.processor);
  EXPECT_EQ(area_.more[0], 0U) << "the concurrency id";
  EXPECT_EQ(area_.more[1], 77U) << "behind what is known";
}

TEST_F(RestartableSequencesTest, AThreadIsToldItsProcessorAnewAtEachInterruption) {
  area_.processor = area_.first_processor = kNowhere;
  EXPECT_TRUE(restart_sequence(run_));
  EXPECT_LT(area_.processor, 4096U);
  EXPECT_EQ(area_.first_processor, area_.processor);
}

TEST_F(RestartableSequencesTest, WithVirtualTimeThereIsOneProcessor) {
  run_.config.virtual_time = true;
  run_.thread->sequences.processor = 5;
  EXPECT_TRUE(restart_sequence(run_));
  EXPECT_EQ(area_.processor, 0U);
  run_.thread->interrupted = false;
  look_for_processor(run_);
  EXPECT_FALSE(run_.thread->interrupted);
}

TEST_F(RestartableSequencesTest, AnInterruptionInASequenceGoesOnWhereItBeginsAnewAndOneElsewhereGoesOn) {
  const struct {
    std::uint64_t pc;
    bool inside;
  } rows[] = {{kStart - 1, false}, {kStart, true}, {kStart + kLength - 1, true}, {kStart + kLength, false}};
  for (const auto& row : rows) {
    EXPECT_TRUE(interrupt(row.pc));
    EXPECT_EQ(run_.thread->pc, row.inside ? sequence_.abort : row.pc);
    EXPECT_EQ(area_.sequence, 0U) << "it has ended";
  }
}

TEST_F(RestartableSequencesTest, WhatIsNoDescriptionOfOneIsAFault) {
  const auto wrong = [this](auto& field, const auto& value) {
    const auto before = std::exchange(field, value);
    EXPECT_FALSE(interrupt(kStart));
    EXPECT_EQ(run_.thread->pc, kStart);
    field = before;
  };
  wrong(sequence_.version, 1U);
  wrong(sequence_.flags, 1U);
  wrong(sequence_.start, std::uint64_t{1} << 47);
  wrong(sequence_.length, ~std::uint64_t{0});
  wrong(sequence_.abort, kStart + 4);
  wrong(sequence_.abort, at(&code_[0]));  // no signature in front of it
  wrong(area_.flags, 1U);
  area_.sequence = 8;
  EXPECT_FALSE(restart_sequence(run_));
  EXPECT_TRUE(interrupt(kStart)) << "all is right again";
}

TEST_F(RestartableSequencesTest, AnAreaIsLeftAsItWasBeforeItWasRegistered) {
  EXPECT_EQ(register_sequences(run_, at(&area_), kSize, 1, kSignature), 0);
  EXPECT_EQ(area_.processor, kNowhere);
  EXPECT_EQ(area_.first_processor, 0U);
  EXPECT_TRUE(interrupt(kStart));
  EXPECT_EQ(run_.thread->pc, kStart);
  EXPECT_EQ(area_.sequence, at(&sequence_)) << "nobody looks any more";
}

TEST_F(RestartableSequencesTest, AreasThatCannotBeWrittenAreRefused) {
  ASSERT_EQ(register_sequences(run_, at(&area_), kSize, 1, kSignature), 0);
  EXPECT_EQ(register_sequences(run_, 32, kSize, 0, kSignature), -EFAULT);
  EXPECT_EQ(register_sequences(run_, std::uint64_t{1} << 62, kSize, 0, kSignature), -EFAULT);
  EXPECT_EQ(run_.thread->sequences.area, 0U);
}

}  // namespace
}  // namespace zs::engine
