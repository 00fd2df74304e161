// Where a thread goes on that a signal has interrupted, and what is kept of the signal. Each test says what came and
// where it found the thread.
#include "engine/kernel/signals/signal_entry.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/kernel/threads/thread_stacks.h"
#include "engine/memory/copy_code.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kAlignmentCheckFlag = 0x40000;

struct Arrival {
  int signal = 0;
  siginfo_t info{};
  ucontext_t context{};
  std::uint64_t handlers_flags = 0;  // EFLAGS when the handler begins, beside what they are
};
Arrival* arriving = nullptr;  // NOLINT: reached from a signal handler, without an argument

/// On the thread's signal block, as the kernel calls the engine's own.
void bring(int /*signal*/) {
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | arriving->handlers_flags);
  signal_entry(arriving->signal, &arriving->info, &arriving->context);
  arriving->handlers_flags = __builtin_ia32_readeflags_u64();
}

/// mov eax, [rbx]; ret. mov r11, [r11].
constexpr std::uint64_t kLoadsAndReturns = 0, kMentionsR11 = 1;

class SignalEntryTest : public RunTest {
 protected:
  static constexpr int kBrings = SIGUSR2;
  static constexpr std::uint64_t kInCpp = 0x40'1234, kOdd = std::uint64_t{1} << 63;

  void SetUp() override {
    code_.put(kLoadsAndReturns, {0x8B, 0x03, 0xC3});
    code_.put(kMentionsR11, {0x4D, 0x8B, 0x1B});
    count(0, kInstructions, kFar);
    count(1, kBranches, kFar);
    start();
    Thread& thread = be_this_thread();
    sigaltstack(nullptr, &alternate_before_);
    map_signal_block(thread);
    use_signal_block(thread);
    struct sigaction brings {};
    brings.sa_handler = &bring;
    brings.sa_flags = SA_ONSTACK;
    sigaction(kBrings, &brings, &action_before_);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, &mask_before_);
    reg(REG_RSP) = 0x7000'0000;
  }
  void TearDown() override {
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    sigaction(kBrings, &action_before_, nullptr);
    sigaltstack(&alternate_before_, nullptr);
    munmap(run_.thread->signal_block, kSignalBlockBytes);
  }

  greg_t& reg(int which) { return arrival_.context.uc_mcontext.gregs[which]; }
  std::uint64_t pc() { return static_cast<std::uint64_t>(reg(REG_RIP)); }
  std::uint64_t value(int which) { return static_cast<std::uint64_t>(reg(which)); }
  std::uint64_t mask_behind() const {
    std::uint64_t mask = 0;
    std::memcpy(&mask, &arrival_.context.uc_sigmask, sizeof mask);
    return mask;
  }
  /// The thread was at `pc`.
  void arrive(int signal, int code, std::uint64_t pc, std::uint64_t address = 0) {
    arrival_.signal = signal;
    arrival_.info.si_signo = signal;
    arrival_.info.si_code = code;
    arrival_.info.si_addr = reinterpret_cast<void*>(address);
    reg(REG_RIP) = static_cast<greg_t>(pc);
    arriving = &arrival_;
    raise(kBrings);
  }
  void send(int signal, std::uint64_t pc = kInCpp) { arrive(signal, SI_QUEUE, pc); }
  void send_by(std::int32_t pid, int signal) {
    arrive(signal, SI_USER, kInCpp, static_cast<std::uint64_t>(pid));  // where si_addr lies, too
    ASSERT_EQ(arrival_.info.si_pid, pid);
  }
  /// Where the code of that instruction begins.
  std::uint64_t code_of(std::uint64_t page, std::uint64_t instruction) {
    const Block& block = blocks().block(made(page));
    return block.entry + blocks().meta(block, instruction).code_offset;
  }
  /// In an exit, behind the program's instructions.
  std::uint64_t glue() {
    const Block& block = blocks().block(made(kLoadsAndReturns));
    return block.entry + block.code_bytes - 1;
  }
  static std::uint64_t address(const char& label) { return reinterpret_cast<std::uint64_t>(&label); }

  KernelParts parts_{run_, accountant_};
  Arrival arrival_;

 private:
  stack_t alternate_before_{};
  struct sigaction action_before_ {};
  sigset_t mask_before_{};
};

TEST_F(SignalEntryTest, ASignalFillsTheSlotAndTheKernelKeepsTheNext) {
  arrival_.info.si_value.sival_int = 0;
  send(SIGUSR1);
  EXPECT_EQ(run_.thread->pending, kSlotFull);
  EXPECT_EQ(run_.thread->pending_signal, SIGUSR1);
  EXPECT_EQ(run_.thread->pending_info.si_code, SI_QUEUE);
  EXPECT_EQ(mask_behind(), kClosedGate);
  EXPECT_EQ(pc(), kInCpp);
}

TEST_F(SignalEntryTest, OneThatFindsTheThreadOnItsWayToAMissIsNotLost) {
  parts_.entry.begin();
  send(SIGUSR1, 0);
  EXPECT_EQ(run_.thread->pending, kSlotFull);
  EXPECT_EQ(mask_behind(), kClosedGate);
}

TEST_F(SignalEntryTest, AFaultThatSomebodySentIsKeptOnceBesideTheSlot) {
  send_by(1, SIGSEGV);
  send_by(2, SIGSEGV);
  EXPECT_EQ(run_.thread->pending, kSentWaits);
  EXPECT_EQ(run_.thread->sent, signal_bit(SIGSEGV));
  EXPECT_EQ(run_.thread->sent_info[SIGSEGV].si_pid, 1);
  EXPECT_EQ(mask_behind(), 0U);
  EXPECT_FALSE(run_.thread->fault.present);
}

TEST_F(SignalEntryTest, OneThatTheProgramBlocksIsNothingToLookAtYet) {
  run_.thread->mask = signal_bit(SIGSEGV);
  send_by(1, SIGSEGV);
  EXPECT_EQ(run_.thread->sent, signal_bit(SIGSEGV));
  EXPECT_EQ(run_.thread->pending, 0U);
}

TEST_F(SignalEntryTest, ACallThatHasNotBegunIsCalledOff) {
  const struct {
    const char &begin, &last, &left;
  } windows[] = {{zs_syscall_window_begin, zs_syscall_window_syscall, zs_syscall_window_interrupted},
                 {zs_clone_window_begin, zs_clone_window_syscall, zs_clone_window_interrupted},
                 {zs_touch_begin, zs_touch_end, zs_touch_left}};
  for (const auto& window : windows) {
    for (const char* at : {&window.begin, &window.last}) {
      send(SIGUSR1, address(*at));
      EXPECT_EQ(pc(), address(window.left));
    }
    for (const std::uint64_t at : {address(window.begin) - 1, address(window.last) + 1}) {
      send(SIGUSR1, at);
      EXPECT_EQ(pc(), at);
    }
  }
}

TEST_F(SignalEntryTest, TranslatedCodeLeavesAtItsNextAppend) {
  send(SIGUSR1, code_of(kLoadsAndReturns, 0));
  EXPECT_EQ(pc(), code_of(kLoadsAndReturns, 0));
  EXPECT_EQ(run_.context.tripped, 1U);
  EXPECT_TRUE(parts_.entry.untrip());
}

TEST_F(SignalEntryTest, TheDispatcherIsLeftAloneUntilItHasLookedForTheLastTime) {
  send(SIGUSR1);
  EXPECT_FALSE(parts_.entry.untrip());
  parts_.entry.begin();
  send(SIGUSR1);
  EXPECT_TRUE(parts_.entry.untrip());
}

TEST_F(SignalEntryTest, WhoHasNotTheLockTripsNobodyElse) {
  Thread other;
  other.process = run_.thread->process;
  run_.lock.reset(other);
  parts_.entry.begin();
  send(SIGUSR1, code_of(kLoadsAndReturns, 0));
  EXPECT_EQ(run_.thread->pending, kSlotFull);
  EXPECT_FALSE(parts_.entry.untrip());
}

TEST_F(SignalEntryTest, WhileTheProcessIsInExecItsSignalsGoToWhoCallsThat) {
  run_.thread->process->exec_tid = run_.thread->id.tid;
  send(SIGUSR1);
  EXPECT_EQ(run_.thread->pending, 0U);
  EXPECT_EQ(mask_behind(), 0U);
  const std::uint64_t set = signal_bit(SIGUSR1);
  const timespec at_once{};
  EXPECT_EQ(raw_syscall(SYS_rt_sigtimedwait, &set, nullptr, &at_once, sizeof set), SIGUSR1);
}

TEST_F(SignalEntryTest, AVforkChildThatHasNoBlockOfItsOwnYetIsFoundByItsParents) {
  Thread child;
  child.process = run_.thread->process;
  run_.thread->vfork_child = &child;
  send(SIGUSR1);
  EXPECT_EQ(run_.thread->pending, kSlotFull);
  EXPECT_EQ(child.pending, 0U);
  run_.thread->pending = 0;
  run_.thread->id.tid += 1;
  send(SIGUSR1);
  EXPECT_EQ(run_.thread->pending, 0U);
  EXPECT_EQ(child.pending, kSlotFull);
}

TEST_F(SignalEntryTest, AFaultOfTheProgramIsKeptAndItsCodeLeft) {
  reg(REG_ERR) = 6;
  reg(REG_TRAPNO) = 14;
  reg(REG_CR2) = 0x5678;
  const std::uint64_t at = code_of(kLoadsAndReturns, 0);
  arrive(SIGSEGV, SEGV_ACCERR, at, 0x5678);
  const Fault& fault = run_.thread->fault;
  EXPECT_TRUE(fault.present);
  EXPECT_EQ(fault.info.si_signo, SIGSEGV);
  EXPECT_EQ(fault.info.si_addr, reinterpret_cast<void*>(0x5678));
  EXPECT_EQ(fault.error_code, 6U);
  EXPECT_EQ(fault.trap_number, 14U);
  EXPECT_EQ(fault.address, 0x5678U);
  EXPECT_EQ(fault.cache_pc, at);
  EXPECT_EQ(pc(), run_.stubs.fault);
  EXPECT_EQ(value(REG_RSP), 0x7000'0000U);
  EXPECT_EQ(run_.thread->pending, 0U);
}

TEST_F(SignalEntryTest, RegistersThatTheTranslationBorrowedAreTheProgramsAgain) {
  run_.context.slot_rcx = 11;
  reg(REG_RCX) = 22;
  arrive(SIGSEGV, SEGV_MAPERR, code_of(kLoadsAndReturns, 1));
  EXPECT_EQ(value(REG_RCX), 11U);

  const std::uint64_t at = code_of(kMentionsR11, 0);
  const int stand_in = kSavedAt[blocks().locate(at).meta.map_register];
  run_.context.slot_map = 33;
  reg(stand_in) = 44;
  arrive(SIGSEGV, SEGV_MAPERR, at);
  EXPECT_EQ(value(stand_in), 33U);
  EXPECT_EQ(run_.gpr(kR11), 44U);
}

TEST_F(SignalEntryTest, AStackPointerThatIsNoAddressIsKeptFromTheKernel) {
  reg(REG_RSP) = static_cast<greg_t>(kOdd);
  arrive(SIGSEGV, SI_KERNEL, code_of(kLoadsAndReturns, 0));
  EXPECT_EQ(value(REG_RSP), 0U);
  EXPECT_EQ(parts_.entry.take_odd_stack_pointer(), kOdd);
}

TEST_F(SignalEntryTest, WhatTheEngineOnlyTriesGoesOnBehindItsFault) {
  for (const auto& [at, behind] : {std::pair{&zs_copy_code_fault, &zs_copy_code_end},
                                   {&zs_copy_code16_fault, &zs_copy_code16_end},
                                   {&zs_touch_begin, &zs_touch_left}}) {
    arrive(SIGBUS, BUS_ADRERR, address(*at));
    EXPECT_EQ(pc(), address(*behind));
  }
  send(SIGBUS, address(zs_copy_code_fault));
  EXPECT_EQ(pc(), address(zs_copy_code_fault)) << "that was none";
  EXPECT_FALSE(run_.thread->fault.present);
}

TEST_F(SignalEntryTest, AFaultOfTheEngineEndsItAndSaysWhere) {
  EXPECT_EXIT(arrive(SIGSEGV, SEGV_MAPERR, kInCpp, 0x5678), testing::ExitedWithCode(kToolFailed),
              "fault in the engine at 0x0000000000401234, address 0x0000000000005678");
}

TEST_F(SignalEntryTest, AnAppendBehindTheTraceLeavesForTheGuard) {
  for (const std::uint64_t at : {run_.trace().begin(), run_.trace().end() + 8}) {
    arrive(SIGSEGV, SEGV_ACCERR, glue(), at);
    EXPECT_EQ(pc(), run_.stubs.guard);
    EXPECT_EQ(run_.context.guard_pc, glue());
  }
  EXPECT_FALSE(run_.thread->fault.present);
}

TEST_F(SignalEntryTest, AStoreOfTheProgramsBehindTheTraceIsAFault) {
  arrive(SIGSEGV, SEGV_ACCERR, code_of(kLoadsAndReturns, 0), run_.trace().end() + 8);
  EXPECT_EQ(pc(), run_.stubs.fault);
  EXPECT_TRUE(run_.thread->fault.present);
}

// Of a jump there is no code but the append.
TEST_F(SignalEntryTest, AnAppendWhereAnInstructionBeginsLeavesForTheGuard) {
  const std::uint64_t at = run_.trace().end() + 8;
  reg(REG_R11) = static_cast<greg_t>(at);
  arrive(SIGSEGV, SEGV_ACCERR, code_of(kLoadsAndReturns, 0), at);
  EXPECT_EQ(pc(), run_.stubs.guard);
  EXPECT_FALSE(run_.thread->fault.present);
}

TEST_F(SignalEntryTest, AnAppendByAPointerThatIsHeldLessTheBudgetDoesToo) {
  run_.trace().bias_pointer();
  const std::uint64_t at = run_.trace().end() + 8;
  reg(REG_R11) = static_cast<greg_t>(at - run_.trace().pointer_bias());
  arrive(SIGSEGV, SEGV_ACCERR, code_of(kLoadsAndReturns, 0), at);
  EXPECT_EQ(pc(), run_.stubs.guard);
  EXPECT_FALSE(run_.thread->fault.present);
}

TEST_F(SignalEntryTest, AnAppendThatIsMisalignedLeavesForTheGuardToo) {
  arrive(SIGBUS, BUS_ADRALN, glue());
  EXPECT_EQ(pc(), run_.stubs.guard);
  arrive(SIGBUS, BUS_ADRALN, code_of(kLoadsAndReturns, 0));
  EXPECT_EQ(pc(), run_.stubs.fault) << "an access of the program's";
}

TEST_F(SignalEntryTest, AJumpToAnEntryThatNobodyHasSetIsAMiss) {
  parts_.entry.begin();
  arrive(SIGSEGV, SEGV_MAPERR, 0);
  EXPECT_EQ(pc(), run_.stubs.indirect_miss);
  EXPECT_EQ(parts_.entry.take_far_lookup(), 0U);
}

TEST_F(SignalEntryTest, ALookupBesideTheDirectTableIsAMiss) {
  DirectTable& table = run_.code_cache->direct_table();
  table.map({}, ReservedAddresses::kBase);
  if (!table.is_mapped()) GTEST_SKIP() << "there is no room for the table";
  reg(REG_RCX) = static_cast<greg_t>(DirectTable::kEnd + 8);
  arrive(SIGSEGV, SEGV_MAPERR, glue(), table.entry_of(DirectTable::kEnd + 8));
  EXPECT_EQ(pc(), run_.stubs.indirect_miss);
  EXPECT_EQ(parts_.entry.take_far_lookup(), glue());
  arrive(SIGSEGV, SEGV_MAPERR, glue(), 0x5678);
  EXPECT_EQ(pc(), run_.stubs.fault) << "of another address";
  table.unmap();
}

TEST_F(SignalEntryTest, ALookupWhereTheDirectTableIsEmptyIsAMissAndStaysALookup) {
  DirectTable& table = run_.code_cache->direct_table();
  table.map({}, ReservedAddresses::kBase);
  if (!table.is_mapped()) GTEST_SKIP() << "there is no room for the table";
  reg(REG_RCX) = static_cast<greg_t>(DirectTable::kFirst + 8);
  arrive(SIGSEGV, SEGV_ACCERR, glue(), table.entry_of(DirectTable::kFirst + 8));
  EXPECT_EQ(pc(), run_.stubs.indirect_miss);
  EXPECT_EQ(parts_.entry.take_far_lookup(), 0U);
  table.unmap();
}

TEST_F(SignalEntryTest, WhatWasTakenOnceMoreForATracerGoesBackToWhoAskedForIt) {
  run_.thread->rsp_while_shown = 0x7100'0000;
  arrive(SIGSEGV, SEGV_MAPERR, kInCpp);
  EXPECT_EQ(pc(), address(zs_was_program));
  EXPECT_EQ(value(REG_RSP), 0x7100'0000U);
  EXPECT_EQ(mask_behind(), ~std::uint64_t{0});
  EXPECT_EQ(run_.thread->rsp_while_shown, 0U);
}

TEST_F(SignalEntryTest, ATrapBehindPopfIsTheFlagOfTheProgram) {
  reg(REG_EFL) = 0x202 | static_cast<greg_t>(kTrapFlag);
  arrive(SIGTRAP, TRAP_TRACE, code_of(kLoadsAndReturns, 0));
  EXPECT_EQ(value(REG_EFL), 0x202U);
  EXPECT_TRUE(run_.thread->traps);
  EXPECT_EQ(pc(), code_of(kLoadsAndReturns, 0));
  EXPECT_FALSE(run_.thread->fault.present);
}

TEST_F(SignalEntryTest, TheEngineRunsWithoutTheProgramsAlignmentCheck) {
  arrival_.handlers_flags = kAlignmentCheckFlag;
  send(SIGUSR1);
  EXPECT_EQ(arrival_.handlers_flags & kAlignmentCheckFlag, 0U);
}

/// Somebody who waits for the lock says that its holder slept for memory, at that place.
class SleeperForMemory : public SignalEntryTest {
 protected:
  static constexpr int kAboutMemory = 0x7A73;  // as EngineLock has it

  void tell(std::uint64_t slept_at, std::uint64_t pc) {
    arrival_.info.si_errno = kAboutMemory;
    arrival_.info.si_value.sival_ptr = reinterpret_cast<void*>(slept_at);
    arrive(SIGTRAP, SI_QUEUE, pc);
    ASSERT_EQ(EngineLock::where_it_waited_for_memory(arrival_.info), slept_at);
  }
};

TEST_F(SleeperForMemory, ComesInFrontOfItsInstructionWithoutAFaultOfTheProgram) {
  const std::uint64_t at = code_of(kLoadsAndReturns, 0);
  tell(at, at);
  EXPECT_EQ(pc(), run_.stubs.fault);
  EXPECT_TRUE(run_.thread->fault.present);
  EXPECT_EQ(run_.thread->fault.info.si_signo, kWaitsForMemory);
  EXPECT_EQ(run_.thread->fault.cache_pc, at);
}

TEST_F(SleeperForMemory, GoesOnWhereItWasIfItIsSomewhereElseByNow) {
  const std::uint64_t at = code_of(kLoadsAndReturns, 0), next = code_of(kLoadsAndReturns, 1);
  tell(at, next);
  EXPECT_EQ(pc(), next);
  tell(glue(), glue());
  EXPECT_EQ(pc(), glue()) << "in front of no instruction";
  EXPECT_FALSE(run_.thread->fault.present);
  EXPECT_EQ(run_.thread->sent, 0U);
}

TEST_F(SleeperForMemory, TouchesItNoMore) {
  tell(address(zs_touch_begin), address(zs_touch_begin));
  EXPECT_EQ(pc(), address(zs_touch_left));
}

}  // namespace
}  // namespace zs::engine
