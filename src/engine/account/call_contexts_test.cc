// Who called what runs.
#include "engine/account/call_contexts.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace zs::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::uint32_t called(CallContexts& contexts, std::initializer_list<std::uint64_t> addresses) {
  std::uint32_t context = CallContexts::kNoCallers;
  for (const std::uint64_t address : addresses) context = contexts.called(context, address);
  return context;
}
std::vector<std::uint64_t> callers(CallContexts& contexts, std::uint32_t context) {
  const auto found = contexts.callers_of(context);
  return {found.begin(), found.end()};
}

TEST(CallContexts, OfRecursionEachAddressIsThereOnceWhereItIsLast) {
  CallContexts contexts(100);
  EXPECT_THAT(callers(contexts, called(contexts, {1, 2, 3})), ElementsAre(3, 2, 1));
  EXPECT_THAT(callers(contexts, called(contexts, {1, 2, 2, 2})), ElementsAre(2, 1));
  EXPECT_THAT(callers(contexts, called(contexts, {1, 2, 3, 2})), ElementsAre(2, 3, 1));
  EXPECT_EQ(called(contexts, {1, 2, 3, 2, 3}), called(contexts, {1, 2, 3}));
}

TEST(CallContexts, OfTooManyTheLastCallersAreNotKept) {
  CallContexts contexts(2);
  EXPECT_THAT(callers(contexts, called(contexts, {1, 2})), ElementsAre(2, 1));
  EXPECT_FALSE(contexts.some_not_kept());
  EXPECT_THAT(callers(contexts, called(contexts, {1, 3, 2})), ElementsAre(2, 1));
  EXPECT_TRUE(contexts.some_not_kept());
}

TEST(CallContexts, OfWhatIsCalledTooDeepTheOuterCallersAreKept) {
  CallContexts contexts(1000);
  std::uint32_t context = CallContexts::kNoCallers;
  for (std::uint64_t address = 1; address <= 2 * CallContexts::kMostCallers; ++address)
    context = contexts.called(context, address);
  const auto found = callers(contexts, context);
  ASSERT_EQ(found.size(), CallContexts::kMostCallers);
  EXPECT_EQ(found.front(), 2 * CallContexts::kMostCallers);
  EXPECT_EQ(found.back(), 1);
}

class CallStackTest : public testing::Test {
 protected:
  void call(std::uint64_t returns_to, std::uint64_t sp) {
    stack_.call(returns_to, sp, contexts_.called(stack_.context(), returns_to));
  }
  std::vector<std::uint64_t> now() { return callers(contexts_, stack_.context()); }

  CallContexts contexts_{100};
  CallStack stack_{0x10'0000};
};

TEST_F(CallStackTest, AJumpOutOfCallsEndsThoseBelowTheStackPointer) {
  call(1, 0xFFF00);
  call(2, 0xFFE00);
  call(3, 0xFFD00);
  stack_.moves(0xFFC00, 0xFFE40, false);
  EXPECT_THAT(now(), ElementsAre(1));
  EXPECT_TRUE(stack_.returns(1));
  EXPECT_THAT(now(), IsEmpty());
}

TEST_F(CallStackTest, AnotherStackHasItsOwnCallersAndTheFirstIsFoundAgain) {
  call(1, 0xFFF00);
  stack_.moves(0xFFE00, 0x50000, false);
  EXPECT_THAT(now(), IsEmpty());
  call(2, 0x4FF00);
  stack_.moves(0x4FE00, 0xFFE00, false);
  EXPECT_THAT(now(), ElementsAre(1));
  stack_.moves(0xFFE00, 0x4FE00, false);
  EXPECT_THAT(now(), ElementsAre(2));
}

TEST_F(CallStackTest, RoomForAVariableIsNoOtherStackUnlessAJumpFollows) {
  call(1, 0xFFF00);
  stack_.moves(0xFFE00, 0xFF000, true);
  call(2, 0xFEF00);
  stack_.jumps();
  EXPECT_THAT(now(), ElementsAre(2, 1));
  stack_.moves(0xFEE00, 0xFE000, true);
  stack_.jumps();
  EXPECT_THAT(now(), IsEmpty());
}

TEST_F(CallStackTest, AHandlerStandsInWhatItInterruptedAndGoesBackThere) {
  call(1, 0xFFF00);
  const std::uint32_t interrupted = contexts_.called(stack_.context(), 7);
  stack_.handler_begins(0xFFE00, 0xFF000, 9, interrupted, contexts_.called(interrupted, 9));
  EXPECT_THAT(now(), ElementsAre(9, 7, 1));
  EXPECT_TRUE(stack_.returns(9));
  stack_.moves(0xFF008, 0xFFE00, false);
  EXPECT_THAT(now(), ElementsAre(1));
}

}  // namespace
}  // namespace zs::engine
