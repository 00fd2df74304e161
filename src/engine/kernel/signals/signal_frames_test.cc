// What a program's handler finds on its stack, and what a return from it restores.
#include "engine/kernel/signals/signal_frames.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/kernel/signals/signal_frame.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

class SignalFramesTest : public RunTest {
 protected:
  static constexpr std::uint64_t kPc = 0x40'1000, kHandler = 0x40'2000, kDirection = 0x400, kCarry = 1,
                                 kResume = 0x10000;

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    for (unsigned reg = 0; reg < 16; ++reg) run_.context.gpr[reg] = 100 + reg;
    run_.gpr(kRsp) = top() - 8;
    run_.context.flags = 0x202 | kCarry;
    run_.thread->pc = kPc;
    const std::uint32_t mxcsr = 0x1F80;
    std::memcpy(area() + 24, &mxcsr, sizeof mxcsr);
  }
  std::uint64_t top() const { return reinterpret_cast<std::uint64_t>(stack_.data() + stack_.size()); }
  std::byte* area() const { return reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset; }
  SignalFrame pushed(int signal = SIGUSR1, std::uint64_t flags = 0, const Fault* fault = nullptr) {
    siginfo_t info{};
    info.si_signo = signal;
    EXPECT_TRUE(frames_.push(signal, info,
                             {.handler = kHandler, .flags = flags | kSaRestorer, .restorer = 0x99, .mask = 0}, fault));
    return top_of_stack<SignalFrame>();
  }
  void change(const SignalFrame& frame) { std::memcpy(reinterpret_cast<void*>(run_.gpr(kRsp)), &frame, sizeof frame); }
  /// RET of the handler, and rt_sigreturn.
  bool restore() {
    run_.gpr(kRsp) += 8;
    return frames_.restore();
  }
  bool is_on_alternate() const {
    const std::uint64_t base = reinterpret_cast<std::uint64_t>(alternate_.data());
    return run_.gpr(kRsp) >= base && run_.gpr(kRsp) < base + alternate_.size();
  }
  long set_alternate(void* at, std::size_t size, int flags = 0) {
    const stack_t wanted{at, flags, size};
    return frames_.set_alternate(reinterpret_cast<std::uint64_t>(&wanted), 0);
  }

  SignalFrames frames_{run_, run_, run_.context, arch::CpuLevel::Host};
  std::vector<std::byte> stack_ = std::vector<std::byte>(64 << 10), alternate_ = std::vector<std::byte>(64 << 10);
};

TEST_F(SignalFramesTest, AHandlerBeginsWithItsArguments) {
  const SignalFrame frame = pushed();
  EXPECT_EQ(run_.thread->pc, kHandler);
  EXPECT_EQ(run_.gpr(kRdi), static_cast<std::uint64_t>(SIGUSR1));
  EXPECT_EQ(run_.gpr(kRsi), run_.gpr(kRsp) + offsetof(SignalFrame, info));
  EXPECT_EQ(run_.gpr(kRdx), run_.gpr(kRsp) + offsetof(SignalFrame, uc));
  EXPECT_EQ(run_.gpr(kRax), 0U);
  EXPECT_EQ(frame.return_address, 0x99U);
  EXPECT_EQ(frame.info.si_signo, SIGUSR1);
}

TEST_F(SignalFramesTest, AHandlersStackIsAlignedAndLeavesTheRedZoneAlone) {
  for (std::uint64_t odd = 0; odd < 64; odd += 8) {
    run_.gpr(kRsp) = top() - odd - 128;
    const std::uint64_t sp = run_.gpr(kRsp);
    const SignalFrame frame = pushed();
    EXPECT_EQ(run_.gpr(kRsp) % 16, 8U);
    EXPECT_EQ(frame.uc.context.fpstate % 64, 0U);
    EXPECT_LE(frame.uc.context.fpstate + (has_xsave() ? xsave_bytes() + 4 : 512), sp - 128);
  }
}

TEST_F(SignalFramesTest, AReturnRestoresWhatWas) {
  run_.thread->mask = 0x1234;
  const std::uint64_t sp = run_.gpr(kRsp);
  pushed();
  run_.thread->mask = ~std::uint64_t{0};
  const std::uint64_t frame_at = run_.gpr(kRsp);
  for (unsigned reg = 0; reg < 16; ++reg) run_.context.gpr[reg] = 0;
  run_.gpr(kRsp) = frame_at;
  run_.context.flags = 0x202;
  EXPECT_TRUE(restore());
  for (unsigned reg = 0; reg < 16; ++reg) EXPECT_EQ(run_.context.gpr[reg], reg == kRsp ? sp : 100 + reg) << reg;
  EXPECT_EQ(run_.thread->pc, kPc);
  EXPECT_EQ(run_.context.flags, 0x202 | kCarry);
  EXPECT_EQ(run_.thread->mask, 0x1234U);
}

TEST_F(SignalFramesTest, AReturnRestoresVectorRegisters) {
  const std::uint64_t components = 3;
  std::memcpy(area() + 512, &components, sizeof components);
  std::memset(area() + 160, 0x5A, 16);
  pushed();
  std::uint64_t fresh = 1;
  std::memcpy(&fresh, area() + 512, sizeof fresh);
  constexpr std::uint64_t kProtectionKeys = 1U << 9;
  EXPECT_EQ(fresh & ~kProtectionKeys, 0U) << "a handler begins with fresh ones";
  std::memset(area() + 160, 0, 16);
  EXPECT_TRUE(restore());
  std::memcpy(&fresh, area() + 512, sizeof fresh);
  EXPECT_EQ(fresh, components);
  EXPECT_EQ(static_cast<int>(area()[160]), 0x5A);
}

TEST_F(SignalFramesTest, AReturnRestoresNoFlagsThatTheKernelWouldNot) {
  SignalFrame changed = pushed();
  changed.uc.context.registers[REG_EFL] = ~std::uint64_t{0};
  change(changed);
  EXPECT_TRUE(restore());
  EXPECT_EQ(run_.context.flags & 0x3000, 0U) << "privilege";
  EXPECT_NE(run_.context.flags & kDirection, 0U);
  EXPECT_EQ(run_.context.flags & kTrapFlag, 0U) << "which is never in the processor";
  EXPECT_TRUE(run_.thread->traps);
}

TEST_F(SignalFramesTest, AReturnBlocksNeitherKillNorStop) {
  SignalFrame changed = pushed();
  changed.uc.mask = ~std::uint64_t{0};
  change(changed);
  EXPECT_TRUE(restore());
  EXPECT_EQ(run_.thread->mask, ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP)));
}

TEST_F(SignalFramesTest, AReturnWithoutAReadableFrameIsNone) {
  run_.gpr(kRsp) = 8;
  EXPECT_FALSE(frames_.restore());
}

TEST_F(SignalFramesTest, AFrameThatCannotBeWrittenIsNone) {
  run_.gpr(kRsp) = 0x2000;
  EXPECT_FALSE(frames_.push(SIGUSR1, {}, {.handler = kHandler, .flags = kSaRestorer}, nullptr));
  EXPECT_EQ(run_.thread->pc, kPc);
}

TEST_F(SignalFramesTest, AHandlerWithoutTheCodeThatReturnsFromItHasNoFrame) {
  EXPECT_FALSE(frames_.push(SIGUSR1, {}, {.handler = kHandler, .restorer = 0x99}, nullptr));
  EXPECT_EQ(run_.thread->pc, kPc);
}

TEST_F(SignalFramesTest, AFrameThatTheAlternateStackHasNoRoomForIsNone) {
  ASSERT_EQ(set_alternate(alternate_.data() + alternate_.size() - 2048, 2048), 0);
  if (xsave_bytes() < 1024) GTEST_SKIP() << "the frame fits";
  EXPECT_FALSE(frames_.push(SIGUSR1, {}, {.handler = kHandler, .flags = kSaRestorer | SA_ONSTACK}, nullptr));
}

TEST_F(SignalFramesTest, OnAnAlternateStackThatDisarmsItselfNobodyEverIs) {
  ASSERT_EQ(set_alternate(alternate_.data(), alternate_.size(), INT32_MIN), 0);
  run_.gpr(kRsp) = reinterpret_cast<std::uint64_t>(alternate_.data() + alternate_.size() / 2);
  EXPECT_EQ(set_alternate(nullptr, 0, SS_DISABLE | INT32_MIN), 0);
  stack_t old{};
  EXPECT_EQ(frames_.set_alternate(0, reinterpret_cast<std::uint64_t>(&old)), 0);
  EXPECT_EQ(old.ss_flags, SS_DISABLE | INT32_MIN);
}

TEST_F(SignalFramesTest, AHandlersFlagsAreThoseOfAFunction) {
  run_.context.flags |= kDirection;
  run_.thread->traps = true;
  const SignalFrame frame = pushed();
  EXPECT_EQ(run_.context.flags & kDirection, 0U);
  EXPECT_FALSE(run_.thread->traps);
  EXPECT_NE(frame.uc.context.registers[REG_EFL] & kDirection, 0U);
  EXPECT_NE(frame.uc.context.registers[REG_EFL] & kTrapFlag, 0U);
}

TEST_F(SignalFramesTest, OfAFaultTheInstructionIsResumedAndOfATrapTheOneBehind) {
  Fault page_fault;
  page_fault.trap_number = 14;
  page_fault.error_code = 6;
  page_fault.address = 0x1234;
  const SignalFrame fault = pushed(SIGSEGV, 0, &page_fault);
  EXPECT_EQ(fault.uc.context.trapno, 14U);
  EXPECT_EQ(fault.uc.context.err, 6U);
  EXPECT_EQ(fault.uc.context.cr2, 0x1234U);
  EXPECT_NE(fault.uc.context.registers[REG_EFL] & kResume, 0U);
  run_.gpr(kRsp) = top();
  Fault breakpoint;
  breakpoint.trap_number = 3;
  EXPECT_EQ(pushed(SIGTRAP, 0, &breakpoint).uc.context.registers[REG_EFL] & kResume, 0U);
}

TEST_F(SignalFramesTest, TheAlternateStackIsForThoseWhoAskForIt) {
  ASSERT_EQ(set_alternate(alternate_.data(), alternate_.size()), 0);
  pushed();
  EXPECT_FALSE(is_on_alternate());
  pushed(SIGUSR1, SA_ONSTACK);
  EXPECT_TRUE(is_on_alternate());
  const std::uint64_t inside = run_.gpr(kRsp);
  pushed(SIGUSR2, SA_ONSTACK);
  EXPECT_LT(run_.gpr(kRsp), inside) << "who is on it goes on there";
}

TEST_F(SignalFramesTest, AnAlternateStackIsDisarmedByAHandlerWhereThatIsWanted) {
  ASSERT_EQ(set_alternate(alternate_.data(), alternate_.size(), INT32_MIN), 0);
  const SignalFrame frame = pushed(SIGUSR1, SA_ONSTACK);
  EXPECT_EQ(run_.thread->alternate.ss_flags, SS_DISABLE);
  EXPECT_EQ(frame.uc.stack.ss_size, alternate_.size());
  EXPECT_TRUE(restore());
  EXPECT_EQ(run_.thread->alternate.ss_size, alternate_.size()) << "and armed by its return";
}

TEST_F(SignalFramesTest, AnAlternateStackIsRefusedAsTheKernelDoes) {
  EXPECT_EQ(set_alternate(alternate_.data(), 2047), -ENOMEM);
  EXPECT_EQ(set_alternate(alternate_.data(), 4096, 8), -EINVAL);
  EXPECT_EQ(frames_.set_alternate(8, 0), -EFAULT);
  EXPECT_EQ(set_alternate(alternate_.data(), alternate_.size()), 0);
  pushed(SIGUSR1, SA_ONSTACK);
  EXPECT_EQ(set_alternate(stack_.data(), stack_.size()), -EPERM) << "while the thread is on it";
}

TEST_F(SignalFramesTest, TheAlternateStackThatWasIsSaid) {
  stack_t old{};
  EXPECT_EQ(frames_.set_alternate(0, reinterpret_cast<std::uint64_t>(&old)), 0);
  EXPECT_EQ(old.ss_flags, SS_DISABLE);
  set_alternate(alternate_.data(), alternate_.size());
  pushed(SIGUSR1, SA_ONSTACK);
  EXPECT_EQ(frames_.set_alternate(0, reinterpret_cast<std::uint64_t>(&old)), 0);
  EXPECT_EQ(old.ss_flags, SS_ONSTACK);
  EXPECT_EQ(old.ss_sp, alternate_.data());
}

}  // namespace
}  // namespace zs::engine
