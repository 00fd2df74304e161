// What becomes of translated code that has been left, and what runs next.
#include "engine/dispatcher.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "engine/kernel/signals/signal_frame.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// jmp to the page behind. inc eax; mov [rdi], eax; ret. test eax, eax; jz to page 0; ret. int3. A handler.
constexpr std::uint64_t kJumps = 0, kStores = 1, kTests = 2, kTraps = 3, kHandler = 4;

/// The program's code is in memory, for the guest kernel to find.
class DispatcherTest : public RunTest {
 protected:
  static constexpr std::uint64_t kPages = 5;
  static constexpr int kRw = PROT_READ | PROT_WRITE;

  void SetUp() override {
    const auto mapped =
        run_.map.mmap(Pages::kFirst, kPages * kPageSize, kRw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_EQ(mapped, static_cast<long>(Pages::kFirst));
    put_code(kJumps, {0xE9, 0xFB, 0x0F, 0x00, 0x00});
    put_code(kStores, {0xFF, 0xC0, 0x89, 0x07, 0xC3});
    put_code(kTests, {0x85, 0xC0, 0x0F, 0x84, 0xF8, 0xDF, 0xFF, 0xFF, 0xC3});
    put_code(kTraps, {0xCC});
    put_code(kHandler, {0x90, 0xC3});
    ASSERT_EQ(run_.map.mprotect(Pages::kFirst, kPages * kPageSize, PROT_READ | PROT_EXEC), 0);
    count(0, kInstructions, kFar);
    count(1, kBranches, kFar);
  }
  void TearDown() override {
    run_.map.munmap(Pages::kFirst, kPages * kPageSize);
    const std::uint64_t nothing = 0;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &nothing, nullptr, sizeof nothing);
  }
  static void put_code(std::uint64_t page, const Bytes& code) {
    std::memcpy(reinterpret_cast<void*>(Pages::pc(page)), code.data(), code.size());
  }
  void start() {
    RunTest::start();
    run_.code = &kernel_.code;
    accountant_.phases.begin([](const CodeCache& of) { return generate_stubs(of, &dispatch_entry); });
    run_.gpr(kRsp) = reinterpret_cast<std::uint64_t>(stack_ + sizeof stack_ / 2);
    for (const int signal : {SIGSEGV, SIGTRAP, SIGUSR1})
      (*run_.thread->process->actions)[signal] = {
          .handler = Pages::pc(kHandler), .flags = kSaRestorer, .restorer = 1, .mask = 0};
  }
  /// Code has been left for that. returns where it is entered next
  std::uint64_t leave_for(ExitReason reason) {
    run_.context.reason = reason;
    return dispatch_entry(&run_.context);
  }
  std::uint64_t entry(std::uint64_t page, Variant variant = Variant::Full) const {
    const Block* const block = blocks().find(Pages::pc(page), variant);
    return block == nullptr ? 0 : block->entry;
  }
  /// That it is where the code of that page is entered.
  void expect_entry(std::uint64_t at, std::uint64_t page, Variant variant = Variant::Full) const {
    EXPECT_NE(at, 0U);
    EXPECT_EQ(at, entry(page, variant));
  }

  GuestKernel kernel_{run_, accountant_, dispatcher_};
  Dispatcher dispatcher_{run_, accountant_, kernel_};
  alignas(64) std::byte stack_[64 << 10];
};

TEST_F(DispatcherTest, ADirectExitIsLinkedToWhatItLeadsTo) {
  start();
  run_.config.max_block_instructions = 1;
  accountant_.phases.begin([](const CodeCache& of) { return generate_stubs(of, &dispatch_entry); });
  const std::uint32_t exit = end_of(made(kJumps));
  leave(exit);
  const std::uint64_t at = leave_for(ExitReason::Unlinked);
  expect_entry(at, kStores);
  EXPECT_NE(blocks().exit(exit).linked_to, kNone);
  EXPECT_EQ(run_.thread->pc, Pages::pc(kStores));
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(run_.visits.full, 1U);
}

TEST_F(DispatcherTest, AnIndirectMissGivesTheProgramItsRegisterBackAndIsFoundNextTime) {
  start();
  leave(end_of(made(kStores)));
  run_.gpr(kRcx) = Pages::pc(kTests);
  run_.context.slot_rcx = 77;
  expect_entry(leave_for(ExitReason::IndirectMiss), kTests);
  EXPECT_EQ(run_.gpr(kRcx), 77U);
  EXPECT_EQ(run_.thread->pc, Pages::pc(kTests));
  EXPECT_EQ(counter(0), 3U);
  const Block* const block = blocks().find(Pages::pc(kTests), Variant::Full);
  EXPECT_TRUE(block->hashed_entry != 0 || block->met_indirectly != 0);
}

TEST_F(DispatcherTest, AtTheGuardTheAppendThatFaultedIsCounted) {
  start();
  const std::uint32_t block = made(kStores), exit = end_of(block);
  leave(exit);
  Bytes append(std::begin(kAppend), std::end(kAppend));
  for (unsigned byte = 0; byte < 4; ++byte) append.push_back(static_cast<std::uint8_t>(exit >> 8 * byte));
  const auto* const code = reinterpret_cast<const std::uint8_t*>(blocks().block(block).entry);
  const auto* const at = std::search(code, code + blocks().block(block).code_bytes, append.begin(), append.end());
  ASSERT_NE(at, code + blocks().block(block).code_bytes);
  run_.context.guard_pc = reinterpret_cast<std::uint64_t>(at);
  run_.gpr(kRcx) = Pages::pc(kTests);
  expect_entry(leave_for(ExitReason::Guard), kTests);
  EXPECT_EQ(counter(0), 6U);
  EXPECT_EQ(counter(1), 2U);
  EXPECT_EQ(heard_.flushes, 1) << "what is known is told now and then";
}

TEST_F(DispatcherTest, AFaultInTheMiddleOfABlockIsTheProgramsAtItsInstruction) {
  start();
  const std::uint32_t block = made(kStores);
  Fault& fault = run_.thread->fault;
  fault.present = true;
  fault.info.si_signo = SIGSEGV;
  fault.info.si_addr = reinterpret_cast<void*>(0x1234);
  fault.cache_pc = blocks().block(block).entry + blocks().meta(blocks().block(block), 1).code_offset;
  const std::uint64_t sp = run_.gpr(kRsp);
  expect_entry(leave_for(ExitReason::Fault), kHandler);
  EXPECT_EQ(counter(0), 1U) << "before it";
  EXPECT_EQ(run_.gpr(kRdi), static_cast<std::uint64_t>(SIGSEGV));
  EXPECT_LT(run_.gpr(kRsp), sp);
  EXPECT_EQ(top_of_stack<SignalFrame>().uc.context.registers[REG_RIP], Pages::pc(kStores) + 2);
  EXPECT_FALSE(fault.present);
}

TEST_F(DispatcherTest, AStepIsRetiredWhereItLed) {
  start();
  run_.config.precise_only = true;
  run_.thread->pc = Pages::pc(kTests);
  run_.context.exit_id = end_of(made(kTests));
  expect_entry(dispatcher_.resume(kNone), kTests, Variant::Step);
  run_.context.exit_id = blocks().find(Pages::pc(kTests), Variant::Step)->first_exit;
  EXPECT_NE(leave_for(ExitReason::StepDone), 0U);
  EXPECT_EQ(run_.thread->pc, Pages::pc(kTests) + 2);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(run_.visits.step, 2U);
  EXPECT_EQ(run_.visits.full, 0U);
}

TEST_F(DispatcherTest, WhoIsTracedRunsInSteps) {
  start();
  run_.thread->process->traced = true;
  dispatcher_.resume(kNone);
  EXPECT_EQ(run_.visits.step, 1U);
}

TEST_F(DispatcherTest, ATrapFlagIsTheProgramsAndItsInstructionsRunAlone) {
  start();
  run_.context.flags = 0x202 | kTrapFlag;
  leave(end_of(made(kStores)));
  run_.gpr(kRcx) = Pages::pc(kTests);
  leave_for(ExitReason::IndirectMiss);
  EXPECT_EQ(run_.context.flags, 0x202U) << "it is never in the processor";
  EXPECT_TRUE(run_.thread->traps);
  EXPECT_EQ(run_.visits.step, 1U);
  EXPECT_EQ(run_.visits.full, 0U);
}

TEST_F(DispatcherTest, ABreakpointIsToldBehindIt) {
  start();
  run_.thread->pc = Pages::pc(kTraps);
  leave(end_of(made(kTraps)));
  expect_entry(leave_for(ExitReason::Unlinked), kHandler);
  EXPECT_EQ(run_.gpr(kRdi), static_cast<std::uint64_t>(SIGTRAP));
  EXPECT_EQ(top_of_stack<SignalFrame>().uc.context.registers[REG_RIP], Pages::pc(kTraps) + 1);
}

TEST_F(DispatcherTest, CodeThatIsNotThereIsAFault) {
  start();
  run_.thread->pc = Pages::pc(kPages);
  leave(end_of(made(kPages)));
  expect_entry(leave_for(ExitReason::Unlinked), kHandler);
  EXPECT_EQ(top_of_stack<SignalFrame>().info.si_addr, reinterpret_cast<void*>(Pages::pc(kPages)));
  EXPECT_EQ(top_of_stack<SignalFrame>().info.si_code, SEGV_MAPERR);
}

TEST_F(DispatcherTest, ASignalThatWaitsIsDeliveredBeforeAnythingRuns) {
  start();
  run_.thread->pc = Pages::pc(kStores);
  run_.thread->pending_signal = SIGUSR1;
  run_.thread->pending_info.si_signo = SIGUSR1;
  run_.thread->pending = kSlotFull;
  expect_entry(dispatcher_.resume(kNone), kHandler);
  EXPECT_EQ(run_.thread->pending, 0U);
  EXPECT_TRUE(kernel_.entry.begun());
}

/// The overflow of a counter is near.
TEST_F(DispatcherTest, TheInstructionThatOverflowsRunsAlone) {
  count(1, kBranches | pmu::kInt, pmu::minus(1));
  start();
  ASSERT_EQ(run_.counting.form, TraceForm::Spaced);
  run_.thread->pc = Pages::pc(kJumps);
  expect_entry(dispatcher_.resume(kNone), kJumps, Variant::Step);
  EXPECT_EQ(run_.visits.step, 1U);
}

TEST_F(DispatcherTest, AFewInstructionsBeforeAnOverflowRunInABoundedBlock) {
  count(0, kInstructions | pmu::kInt, pmu::minus(4));
  start();
  ASSERT_EQ(run_.counting.form, TraceForm::Spaced);
  run_.thread->pc = Pages::pc(kStores);
  expect_entry(dispatcher_.resume(kNone), kStores, Variant::UpTo2);
  EXPECT_EQ(run_.visits.bounded, 1U);
  EXPECT_EQ(blocks().find(Pages::pc(kStores), Variant::UpTo2)->instructions, 2U);
}

TEST_F(DispatcherTest, OfABoundedBlockOnlyInstructionsWithTheEventAreLimited) {
  count(1, kBranches | pmu::kInt, pmu::minus(2));
  start();
  run_.thread->pc = Pages::pc(kJumps);
  expect_entry(dispatcher_.resume(kNone), kJumps, Variant::UpTo1);
  EXPECT_EQ(blocks().find(Pages::pc(kJumps), Variant::UpTo1)->instructions, 3U) << "up to the return";
}

TEST_F(DispatcherTest, FarFromAnOverflowWholeBlocksRun) {
  count(0, kInstructions | pmu::kInt, pmu::minus(100'000));
  start();
  run_.thread->pc = Pages::pc(kStores);
  expect_entry(dispatcher_.resume(kNone), kStores);
  EXPECT_EQ(run_.visits.full, 1U);
}

}  // namespace
}  // namespace zs::engine
