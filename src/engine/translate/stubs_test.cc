// The way into the code cache and out of it: everything of the program's is as it was, everything of the engine's too.
#include "engine/translate/stubs.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "engine/translate/code_space.h"
#include "engine/translate/near_stop.h"
#include "engine/translate/reserved_addresses.h"

namespace zs::engine {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// What the engine's side is like when it has control.
struct Outside {
  int visits = 0;
  std::uint64_t flags = 0;
  std::uint32_t mxcsr = 0;
  std::uint64_t next = 0;  // where to go on the first time; 0: nowhere
};
Outside outside;            // NOLINT: reached from the cache, without an argument
std::jmp_buf test_goes_on;  // NOLINT

std::uint64_t dispatch(Context* /*context*/) {
  outside.flags = __builtin_ia32_readeflags_u64();
  outside.mxcsr = _mm_getcsr();
  _mm_setcsr(0x1F80);
  asm volatile("pcmpeqd %%xmm0, %%xmm0" ::: "xmm0");
  if (++outside.visits == 1 && outside.next != 0) return outside.next;
  std::longjmp(test_goes_on, 1);
}

class StubsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kDirection = 0x400, kCarry = 1;
  static constexpr std::uint32_t kMxcsr = 0x1F80;

  StubsTest() {
    outside = {};
    context_.flags = 0x202;
    context_.host_mxcsr = kMxcsr;
    context_.host_rsp = reinterpret_cast<std::uint64_t>(stack_ + sizeof stack_);
    std::memcpy(area() + 24, &kMxcsr, sizeof kMxcsr);
    for (unsigned reg = 0; reg < 16; ++reg) context_.gpr[reg] = 1000 + reg;
    context_.trace_pointer = cache_.trace().begin() + 64;
  }
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers do not know the engine's stack, from which the test comes back";
#endif
  }
  std::byte* area() { return reinterpret_cast<std::byte*>(&context_) + kXsaveOffset; }
  /// Code in the cache that ends at that stub. returns where it begins
  std::uint64_t code(Bytes bytes, std::uint64_t stub) {
    const std::uint64_t at = cache_.layout().code + used_;
    std::memcpy(reinterpret_cast<void*>(at), bytes.data(), bytes.size());
    const std::uint64_t jump = at + bytes.size();
    *reinterpret_cast<std::uint8_t*>(jump) = 0xE9;
    const auto distance = static_cast<std::int32_t>(stub - (jump + 5));
    std::memcpy(reinterpret_cast<void*>(jump + 1), &distance, sizeof distance);
    used_ += 256;
    return at;
  }
  void enter(std::uint64_t at) {
    if (setjmp(test_goes_on) == 0) reinterpret_cast<void (*)(std::uint64_t)>(stubs_.enter)(at);
  }

  const ReservedAddresses reserved_;
  const UntouchedEntries untouched_{ReservedAddresses::kFirstPrivateFd};
  CodeCache cache_{ReservedAddresses::kBase, ReservedAddresses::kCodeBytes, untouched_};
  const CodeSpace space_{cache_, false};  // which makes room for code
  Context& context_ = cache_.context();
  Stubs stubs_ = generate_stubs(cache_, &dispatch);
  std::uint64_t used_ = 0;
  alignas(64) std::byte stack_[64 << 10];
};

TEST_F(StubsTest, BringAllRegistersInAndOut) {
  Bytes increments;
  for (std::uint8_t reg = 0; reg < 16; ++reg) {
    if (reg == kTracePointer) continue;
    increments.insert(increments.end(), {static_cast<std::uint8_t>(reg < 8 ? 0x48 : 0x49), 0xFF,
                                         static_cast<std::uint8_t>(0xC0 + reg % 8)});
  }
  const std::uint64_t pointer = context_.trace_pointer;
  enter(code(increments, stubs_.unlinked));
  for (unsigned reg = 0; reg < 16; ++reg)
    EXPECT_EQ(context_.gpr[reg], 1000 + reg + (reg == kTracePointer ? 0U : 1U)) << reg;
  EXPECT_EQ(context_.trace_pointer, pointer);
  EXPECT_EQ(context_.reason, ExitReason::Unlinked);
}

TEST_F(StubsTest, KeepTheTracePointerInItsRegister) {
  enter(code({0x49, 0x83, 0xC3, 0x08}, stubs_.unlinked));  // add r11, 8
  EXPECT_EQ(context_.trace_pointer, cache_.trace().begin() + 72);
}

TEST_F(StubsTest, KeepTheFlagsOfTheProgramFromTheEngine) {
  context_.flags = 0x202 | kDirection | kCarry;
  enter(code({}, stubs_.step_done));
  EXPECT_EQ(context_.flags, 0x202 | kDirection | kCarry);
  EXPECT_EQ(outside.flags & kDirection, 0U);
  EXPECT_EQ(context_.reason, ExitReason::StepDone);
}

TEST_F(StubsTest, KeepVectorRegistersWhileTheEngineUsesThem) {
  context_.gpr[kRax] = 0x1234'5678;
  outside.next = code({0x66, 0x0F, 0x7E, 0xC1}, stubs_.unlinked);  // movd ecx, xmm0
  enter(code({0x66, 0x0F, 0x6E, 0xC0}, stubs_.unlinked));          // movd xmm0, eax
  EXPECT_EQ(outside.visits, 2);
  EXPECT_EQ(context_.gpr[kRcx], 0x1234'5678U);
}

TEST_F(StubsTest, KeepTheRoundingOfTheProgramFromTheEngine) {
  const std::uint32_t rounds_down = 0x3F80;
  context_.gpr[kRdi] = reinterpret_cast<std::uint64_t>(&rounds_down);
  std::uint32_t seen = 0;
  context_.gpr[kRsi] = reinterpret_cast<std::uint64_t>(&seen);
  outside.next = code({0x0F, 0xAE, 0x1E}, stubs_.unlinked);  // stmxcsr [rsi]
  enter(code({0x0F, 0xAE, 0x17}, stubs_.unlinked));          // ldmxcsr [rdi]
  EXPECT_EQ(outside.mxcsr, kMxcsr);
  EXPECT_EQ(seen, rounds_down);
}

TEST_F(StubsTest, SayWhyCodeWasLeft) {
  for (const auto& [stub, reason] : {std::pair{stubs_.unlinked, ExitReason::Unlinked},
                                     {stubs_.step_done, ExitReason::StepDone},
                                     {stubs_.indirect_miss, ExitReason::IndirectMiss},
                                     {stubs_.direct_miss, ExitReason::IndirectMiss},
                                     {stubs_.guard, ExitReason::Guard},
                                     {stubs_.fault, ExitReason::Fault}}) {
    outside = {};
    enter(code({}, stub));
    EXPECT_EQ(outside.visits, 1);
    EXPECT_EQ(context_.reason, reason);
  }
}

TEST_F(StubsTest, AHashedLookupThatMissedGivesRaxBack) {
  context_.slot_rax = 77;
  enter(code({}, stubs_.hashed_miss));
  EXPECT_EQ(context_.gpr[kRax], 77U);
  EXPECT_EQ(context_.reason, ExitReason::IndirectMiss);
}

/// A block close to an overflow: its table, and what it comes back to.
class StubsOfStops : public StubsTest {
 protected:
  struct Table {
    NearTable head{};
    std::uint32_t words[2] = {0, NearTable::kForeseen};
  };
  StubsOfStops() {
    context_.waits = &nobody_;
    table_->head.instructions = 2;
    table_->head.end = static_cast<std::uint32_t>(cache_.trace().end());
    context_.near_table = reinterpret_cast<std::uint64_t>(table_);
  }
  Table* table_ = new (reinterpret_cast<void*>(cache_.layout().code + (512 << 10))) Table;
  std::uint64_t nobody_ = 0;
};

/// Its caller has the flags.
TEST_F(StubsOfStops, TheChoiceOfAStopChangesNothingElseOfTheProgram) {
  table_->head.leave = static_cast<std::uint32_t>(code({}, stubs_.unlinked));
  const std::uint64_t pointer = context_.trace_pointer;
  enter(code({}, stubs_.choose_stop));
  EXPECT_EQ(context_.reason, ExitReason::Unlinked);
  for (unsigned reg = 0; reg < 16; ++reg) EXPECT_EQ(context_.gpr[reg], 1000 + reg) << reg;
  EXPECT_EQ(context_.trace_pointer, pointer);
}

/// At a stop the program's rcx is in the stolen register.
TEST_F(StubsOfStops, AStopThatMayNotBePassedLeadsToTheDispatcher) {
  context_.stop_kind = StopKind::Behind;
  enter(code({0x49, 0x87, 0xCB}, stubs_.at_stop));  // xchg r11, rcx
  EXPECT_EQ(outside.visits, 1);
  EXPECT_EQ(context_.reason, ExitReason::Stopped);
  for (unsigned reg = 0; reg < 16; ++reg) EXPECT_EQ(context_.gpr[reg], 1000 + reg) << reg;
}

TEST_F(StubsOfStops, AStopIsPassedWithAllRegistersAsTheyAre) {
  context_.stop_kind = StopKind::Behind;
  context_.stop_at = code({}, stubs_.step_done);
  context_.stop_index = 1;
  context_.passes_left = 1;
  enter(code({0x49, 0x87, 0xCB}, stubs_.at_stop));
  EXPECT_EQ(context_.passed, 1U);
  EXPECT_EQ(context_.reason, ExitReason::StepDone);
  for (unsigned reg = 0; reg < 16; ++reg) EXPECT_EQ(context_.gpr[reg], 1000 + reg) << reg;
  EXPECT_EQ(context_.trace_pointer, cache_.trace().end() - 1 + kPastStops);
}

}  // namespace
}  // namespace zs::engine
