// Who holds a signal: the kernel, the thread's slot, or the program; never two of them and never none.
#include "engine/kernel/signals/signals.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/signals/signal_frame.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// The thread of the test is the program's, with the gate closed.
class SignalsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kHandler = 0x40'2000, kPc = 0x40'1000;

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    Thread& thread = be_this_thread();
    thread.pc = kPc;
    run_.gpr(kRsp) = reinterpret_cast<std::uint64_t>(stack_.data() + stack_.size());
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kClosedGate, &mask_before_, sizeof mask_before_);
    for (const int signal : {SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS, SIGCHLD})
      action(signal) = {.handler = kHandler, .flags = kSaRestorer};
  }
  void TearDown() override {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before_, nullptr, sizeof mask_before_);
  }

  KernelSigaction& action(int signal) { return (*run_.thread->process->actions)[signal]; }
  /// Its handler in the engine has noted it.
  void fill_slot(int signal) {
    run_.thread->pending_signal = signal;
    run_.thread->pending_info = {};
    run_.thread->pending_info.si_signo = signal;
    run_.thread->pending_info.si_code = SI_QUEUE;
    run_.thread->pending |= kSlotFull;
  }
  static std::uint64_t kernel_mask() {
    std::uint64_t mask = 0;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &mask, sizeof mask);
    return mask;
  }
  /// Takes it out of the kernel's queue. returns whether it was there
  static bool kernel_has(int signal) {
    const std::uint64_t set = signal_bit(signal);
    const timespec at_once{};
    return raw_syscall(SYS_rt_sigtimedwait, &set, nullptr, &at_once, sizeof set) == signal;
  }
  bool handler_began(int signal) const {
    return run_.thread->pc == kHandler && run_.gpr(kRdi) == static_cast<std::uint64_t>(signal);
  }
  Signals& signals() { return parts_.signals; }

  KernelParts parts_{run_, accountant_};
  std::vector<std::byte> stack_ = std::vector<std::byte>(64 << 10);
  std::uint64_t mask_before_ = 0;
};

TEST_F(SignalsTest, NothingIsDeliveredWhereNothingWaits) {
  EXPECT_FALSE(signals().deliver_waiting());
  EXPECT_EQ(run_.thread->pc, kPc);
}

TEST_F(SignalsTest, TheSlotsSignalGoesToItsHandlerAndTheGateOpens) {
  fill_slot(SIGUSR1);
  EXPECT_TRUE(signals().deliver_waiting());
  EXPECT_TRUE(handler_began(SIGUSR1));
  EXPECT_EQ(run_.thread->pending, 0U);
  EXPECT_EQ(run_.thread->mask, signal_bit(SIGUSR1));
  EXPECT_EQ(kernel_mask(), signal_bit(SIGUSR1));
}

TEST_F(SignalsTest, TheSlotsSignalGoesBackToTheKernelWhereTheProgramHasComeToBlockIt) {
  fill_slot(SIGUSR1);
  run_.thread->mask = signal_bit(SIGUSR1);
  EXPECT_TRUE(signals().deliver_waiting());
  EXPECT_EQ(run_.thread->pc, kPc);
  EXPECT_EQ(run_.thread->pending, 0U);
  EXPECT_TRUE(kernel_has(SIGUSR1));
}

TEST_F(SignalsTest, InTurnsSignalsOfChildrenAreMergedWhoeverHasThem) {
  for (const int seat : {0, 1}) {
    run_.thread->process->seat = seat;
    run_.thread->mask = 0;
    fill_slot(SIGCHLD);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kClosedGate, nullptr, sizeof kClosedGate);
    raw_syscall(SYS_tgkill, getpid(), gettid(), SIGCHLD);
    EXPECT_TRUE(signals().deliver_waiting());
    EXPECT_TRUE(handler_began(SIGCHLD));
    EXPECT_EQ(kernel_has(SIGCHLD), seat == 0);
  }
  run_.thread->process->seat = 0;
}

TEST_F(SignalsTest, WhileItWaitsInSigsuspendItsTemporaryMaskDecides) {
  fill_slot(SIGUSR1);
  run_.thread->mask = signal_bit(SIGUSR1) | signal_bit(SIGUSR2);
  run_.thread->has_temporary_mask = true;
  run_.thread->temporary_mask = signal_bit(SIGHUP);
  signals().deliver_waiting();
  EXPECT_TRUE(handler_began(SIGUSR1));
  EXPECT_EQ(run_.thread->mask, signal_bit(SIGHUP) | signal_bit(SIGUSR1)) << "what the handler's mask builds on";
  EXPECT_EQ(top_of_stack<SignalFrame>().uc.mask, signal_bit(SIGUSR1) | signal_bit(SIGUSR2))
      << "what its return restores";
  EXPECT_FALSE(run_.thread->has_temporary_mask);
}

TEST_F(SignalsTest, WhatOnlyAWaitsMaskBlocksComesBehindTheCallWithTheProgramsMask) {
  const long result = signals().wait_with_mask(signal_bit(SIGUSR1) | signal_bit(SIGHUP), true, [&] {
    fill_slot(SIGUSR1);
    return 1L;
  });
  EXPECT_EQ(result, 1);
  EXPECT_TRUE(signals().deliver_waiting());
  EXPECT_TRUE(handler_began(SIGUSR1));
  EXPECT_EQ(run_.thread->mask, signal_bit(SIGUSR1));
}

TEST_F(SignalsTest, TheMaskOfAWaitThatASignalEndsLastsUntilTheHandlerBegins) {
  run_.thread->mask = signal_bit(SIGUSR1);
  signals().wait_with_mask(signal_bit(SIGHUP), false, [&] {
    fill_slot(SIGUSR1);
    return -EINTR;
  });
  signals().deliver_waiting();
  EXPECT_TRUE(handler_began(SIGUSR1));
  EXPECT_EQ(run_.thread->mask, signal_bit(SIGHUP) | signal_bit(SIGUSR1));
  EXPECT_EQ(top_of_stack<SignalFrame>().uc.mask, signal_bit(SIGUSR1));
}

TEST_F(SignalsTest, OfAWaitThatHasAResultTheCallSaysWhetherItsMaskLasts) {
  const auto mask_behind = [this](bool with_any_result) {
    run_.thread->mask = 0;
    signals().wait_with_mask(signal_bit(SIGHUP), with_any_result, [&] {
      fill_slot(SIGUSR1);
      return 1L;
    });
    signals().deliver_waiting();
    return run_.thread->mask;
  };
  EXPECT_EQ(mask_behind(false), signal_bit(SIGUSR1));
  EXPECT_EQ(mask_behind(true), signal_bit(SIGUSR1) | signal_bit(SIGHUP));
}

TEST_F(SignalsTest, AMaskThatLastsEndsWhereNoHandlerBegins) {
  action(SIGUSR1).handler = 1;
  signals().wait_with_mask(signal_bit(SIGUSR2), false, [&] {
    fill_slot(SIGUSR1);
    return -EINTR;
  });
  EXPECT_TRUE(run_.thread->has_temporary_mask);
  signals().deliver_waiting();
  EXPECT_FALSE(run_.thread->has_temporary_mask);
  EXPECT_EQ(kernel_mask(), 0U);
}

TEST_F(SignalsTest, ASentFaultThatAWaitLetsInIsTheKernelsDuringTheCall) {
  run_.thread->mask = run_.thread->sent = signal_bit(SIGFPE);
  run_.thread->sent_info[SIGFPE].si_signo = SIGFPE;
  run_.thread->sent_info[SIGFPE].si_code = SI_QUEUE;
  EXPECT_EQ(signals().wait_with_mask(0, false, [&] { return kernel_has(SIGFPE) ? 1L : 0L; }), 1);
  EXPECT_EQ(run_.thread->sent, 0U);
  EXPECT_EQ(run_.thread->pending, 0U);
}

TEST_F(SignalsTest, OfAnActionsFlagsThoseStayThatTheKernelKnows) {
  KernelSigaction wanted{.handler = 1, .flags = ~std::uint64_t{0}, .restorer = 0, .mask = ~std::uint64_t{0}}, kept;
  const auto at = [](const KernelSigaction& action) { return reinterpret_cast<std::uint64_t>(&action); };
  ASSERT_EQ(signals().set_action(SIGURG, at(wanted), 0, 8), 0);
  ASSERT_EQ(signals().set_action(SIGURG, 0, at(kept), 8), 0);
  EXPECT_EQ(kept.flags, 0xDC00'0807U);
  EXPECT_EQ(kept.mask, ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP)));
}

TEST_F(SignalsTest, AnActionThatIgnoresDropsWhatWasSent) {
  run_.thread->mask = run_.thread->sent = signal_bit(SIGFPE);
  const KernelSigaction ignores{.handler = 1};
  ASSERT_EQ(signals().set_action(SIGFPE, reinterpret_cast<std::uint64_t>(&ignores), 0, 8), 0);
  EXPECT_EQ(run_.thread->sent, 0U);
}

TEST_F(SignalsTest, WhatWouldHaveEndedTheProcessIsNotThereToBeTaken) {
  run_.thread->mask = signal_bit(SIGHUP);
  std::uint64_t taken = 0;
  signals().take_one_of(signal_bit(SIGTERM) | signal_bit(SIGHUP) | signal_bit(SIGUSR1) | signal_bit(SIGCHLD),
                        [&](const std::uint64_t& set) {
                          taken = set;
                          return 0L;
                        });
  EXPECT_EQ(taken, signal_bit(SIGHUP) | signal_bit(SIGUSR1) | signal_bit(SIGCHLD));
}

TEST_F(SignalsTest, ABlockedFaultThatSomebodySentCanBeTaken) {
  run_.thread->mask = run_.thread->sent = signal_bit(SIGFPE);
  run_.thread->sent_info[SIGFPE].si_signo = SIGFPE;
  run_.thread->sent_info[SIGFPE].si_code = SI_QUEUE;
  const timespec at_once{};
  EXPECT_EQ(signals().take_one_of(signal_bit(SIGFPE),
                                  [&](const std::uint64_t& set) {
                                    return raw_syscall(SYS_rt_sigtimedwait, &set, nullptr, &at_once, sizeof set);
                                  }),
            SIGFPE);
}

TEST_F(SignalsTest, WhoSendsWhatEndsTheProcessHasItInItsOwnSlot) {
  const std::int32_t pid = run_.thread->process->pid = 77;
  signals().end_by(SIGTERM, pid, false);
  EXPECT_EQ(run_.thread->pending, 0U) << "of one thread the kernel sees to it";
  Thread& other = *run_.threads.emplace_back(std::make_unique<Thread>());
  other.process = run_.thread->process;
  other.id.tid = 78;
  run_.thread->mask = other.mask = signal_bit(SIGTERM);
  signals().end_by(SIGTERM, pid, false);
  EXPECT_EQ(run_.thread->pending, 0U) << "all block it";
  other.mask = 0;
  signals().end_by(SIGTERM, pid + 5, false);
  signals().end_by(SIGTERM, 79, true);
  signals().end_by(SIGUSR1, pid, false);
  signals().end_by(SIGCHLD, pid, false);
  EXPECT_EQ(run_.thread->pending, 0U) << "another process, another thread, a handler, not deadly";
  signals().end_by(SIGTERM, 78, true);
  EXPECT_EQ(run_.thread->pending, kSlotFull);
  EXPECT_EQ(run_.thread->pending_signal, SIGTERM);
  EXPECT_EQ(run_.thread->mask, 0U);
}

TEST_F(SignalsTest, AFaultThatSomebodySentIsDeliveredOnceItIsNotBlocked) {
  run_.thread->sent = signal_bit(SIGSEGV);
  run_.thread->sent_info[SIGSEGV].si_signo = SIGSEGV;
  run_.thread->mask = signal_bit(SIGSEGV);
  signals().deliver_sent();
  EXPECT_EQ(run_.thread->pc, kPc);
  run_.thread->mask = 0;
  run_.thread->pending = kSentWaits;
  EXPECT_TRUE(signals().deliver_waiting());
  EXPECT_TRUE(handler_began(SIGSEGV));
  EXPECT_EQ(run_.thread->sent, 0U);
}

TEST_F(SignalsTest, TheKernelNeverBlocksFaults) {
  run_.thread->mask = ~std::uint64_t{0};
  parts_.gate.settle();
  EXPECT_EQ(kernel_mask() & kSynchronousSignals, 0U);
}

TEST_F(SignalsTest, TheGateDoesNotMoveWhileASignalWaits) {
  fill_slot(SIGUSR1);
  EXPECT_FALSE(parts_.gate.hold());
  EXPECT_EQ(kernel_mask(), kClosedGate & ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP)));
  run_.thread->pending = 0;
  EXPECT_TRUE(parts_.gate.hold());
  EXPECT_FALSE(run_.thread->takes_faults);
  parts_.gate.settle();
  EXPECT_TRUE(run_.thread->takes_faults);
}

TEST_F(SignalsTest, AHandlerBlocksItsMaskAndItsSignalUnlessThatMayNest) {
  action(SIGUSR1).mask = signal_bit(SIGHUP);
  action(SIGUSR1).flags |= SA_NODEFER;
  fill_slot(SIGUSR1);
  signals().deliver_waiting();
  EXPECT_EQ(run_.thread->mask, signal_bit(SIGHUP));
}

TEST_F(SignalsTest, WhatIsIgnoredIsGone) {
  action(SIGUSR1).handler = 1;
  fill_slot(SIGUSR1);
  signals().deliver_waiting();
  EXPECT_EQ(run_.thread->pc, kPc);
  EXPECT_EQ(run_.thread->pending, 0U);
  EXPECT_EQ(kernel_mask(), 0U);
}

TEST_F(SignalsTest, OfAPageFaultItIsToldWhatIsThere) {
  const auto code_of = [this](std::uint64_t address, Reach reach) {
    run_.gpr(kRsp) = reinterpret_cast<std::uint64_t>(stack_.data() + stack_.size());
    run_.thread->mask = 0;
    signals().raise_page_fault(address, reach);
    return std::pair<int, std::uint64_t>{top_of_stack<SignalFrame>().info.si_code,
                                         top_of_stack<SignalFrame>().uc.context.err};
  };
  EXPECT_EQ(code_of(Pages::kFirst, Reach::Fetches), (std::pair<int, std::uint64_t>{SEGV_MAPERR, 4 | 16}));
  ASSERT_EQ(run_.map.mmap(Pages::kFirst, kPageSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            static_cast<long>(Pages::kFirst));
  EXPECT_EQ(code_of(Pages::kFirst, Reach::Fetches), (std::pair<int, std::uint64_t>{SEGV_ACCERR, 4 | 16 | 1}));
  EXPECT_EQ(code_of(Pages::kFirst, Reach::Writes), (std::pair<int, std::uint64_t>{SEGV_ACCERR, 4 | 2 | 1}));
  EXPECT_EQ(code_of(Pages::kFirst, Reach::Reads), (std::pair<int, std::uint64_t>{BUS_ADRERR, 4}));
  run_.map.munmap(Pages::kFirst, kPageSize);
}

}  // namespace
}  // namespace zs::engine
