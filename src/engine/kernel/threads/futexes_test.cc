// Futexes that the engine keeps: that they answer as the kernel does, and who has the turn when.
#include "engine/kernel/threads/futexes.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// Two threads of the program: the test's, which runs, and another one.
class FutexesTest : public RunTest {
 protected:
  static constexpr std::uint64_t kTurnNanoseconds = 262144;

  void SetUp() override {
    alarm(60);  // who is never woken would wait for ever
    count(0, kInstructions, kFar);
    start();
    run_.lock.hold_nobody();
    self().process->pid = self().id.pid = getpid();
    self().id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
    Thread& other = *run_.threads.emplace_back(std::make_unique<Thread>());
    other.process = self().process;
    parts_.turns.save(other);
  }
  void TearDown() override { alarm(0); }

  Thread& self() { return *run_.threads[0]; }
  std::optional<long> call(long operation, std::uint32_t value, std::uint64_t timeout = 0, std::uint64_t second = 0,
                           std::uint32_t third = 0) {
    return call_at(address(word_), operation, value, timeout, second, third);
  }
  std::optional<long> call_at(std::uint64_t at, long operation, std::uint32_t value, std::uint64_t timeout = 0,
                              std::uint64_t second = 0, std::uint32_t third = 0) {
    return parts_.futexes.call({static_cast<long>(at), operation, static_cast<long>(value), static_cast<long>(timeout),
                                static_cast<long>(second), static_cast<long>(third)});
  }
  /// While this thread does that, the other does `work` when it gets a turn, and gives it away.
  std::optional<long> beside(const std::function<void()>& work, const std::function<std::optional<long>()>& waits) {
    Thread& other = *run_.threads[1];
    run_.lock.give_place(other);
    std::thread running([&] {
      parts_.turns.come_back(other);
      work();
      parts_.turns.give_up();
    });
    const std::optional<long> result = waits();
    EXPECT_EQ(run_.thread, &self());
    EXPECT_EQ(run_.lock.owner(), &self());
    running.join();
    return result;
  }
  void let_other_run() {
    parts_.turns.give_up();
    parts_.turns.come_back(self());
  }
  static std::uint64_t address(const auto& value) { return reinterpret_cast<std::uint64_t>(&value); }

  KernelParts parts_{run_, accountant_};
  alignas(8) std::uint32_t word_ = 5;
  alignas(8) std::uint32_t second_ = 7;
};

TEST_F(FutexesTest, OfAThreadThatIsAloneOrOfOtherProcessesTheyAreTheKernels) {
  EXPECT_EQ(call(FUTEX_WAIT, 4), std::nullopt);
  EXPECT_EQ(call(FUTEX_WAKE, 1), 0) << "who waits in the kernel was looked for, too";
  EXPECT_EQ(call(FUTEX_WAKE_PRIVATE, 1), 0);
  EXPECT_EQ(call(FUTEX_LOCK_PI_PRIVATE, 1), std::nullopt);
  run_.threads.pop_back();
  EXPECT_EQ(call(FUTEX_WAKE_PRIVATE, 1), std::nullopt);
}

struct FutexError {
  const char* name;
  long operation;
  std::uint64_t address;  // 0: the word, which is 5
  std::uint32_t value = 0;
  std::uint64_t timeout = 0, second = 0;  // second: as address
  std::uint32_t third = 0;
};
class FutexErrorTest : public FutexesTest, public testing::WithParamInterface<FutexError> {};

TEST_P(FutexErrorTest, IsTheKernels) {
  const FutexError& row = GetParam();
  const std::uint64_t at = row.address != 0 ? row.address : address(word_);
  const std::uint64_t second = row.second != 0 ? row.second : address(second_);
  const long kernels = raw_syscall(SYS_futex, at, row.operation, row.value, row.timeout, second, row.third);
  const std::uint32_t second_by_kernel = std::exchange(second_, 7);
  EXPECT_TRUE(is_error(kernels));
  EXPECT_EQ(call_at(at, row.operation, row.value, row.timeout, second, row.third), kernels);
  EXPECT_EQ(second_, second_by_kernel);
  EXPECT_EQ(word_, 5U);
  EXPECT_EQ(heard_.flushes, 0) << "known before anything is given away";
}

alignas(8) const std::int64_t kNegative[2] = {-1, 0}, kTooManyNanoseconds[2] = {0, 1'000'000'000};
alignas(8) const std::uint32_t kWord[2] = {5, 5};
std::uint64_t place(const auto& of) { return reinterpret_cast<std::uint64_t>(&of); }
constexpr std::uint64_t kUnreadable = 8;
const FutexError kFutexErrors[] = {
    {.name = "AnotherValue", .operation = FUTEX_WAIT_PRIVATE, .address = 0, .value = 4},
    {.name = "NoWord", .operation = FUTEX_WAIT_PRIVATE, .address = kUnreadable},
    {.name = "HalfAWord", .operation = FUTEX_WAIT_PRIVATE, .address = place(kWord) + 2, .value = 5},
    {.name = "NoBits", .operation = FUTEX_WAIT_BITSET_PRIVATE, .address = 0, .value = 5},
    {.name = "NegativeTime", .operation = FUTEX_WAIT_PRIVATE, .address = 0, .value = 5, .timeout = place(kNegative)},
    {.name = "TooManyNanoseconds",
     .operation = FUTEX_WAIT_PRIVATE,
     .address = 0,
     .value = 5,
     .timeout = place(kTooManyNanoseconds)},
    {.name = "NoTime", .operation = FUTEX_WAIT_PRIVATE, .address = 0, .value = 5, .timeout = kUnreadable},
    {.name = "WakeHalfAWord", .operation = FUTEX_WAKE_PRIVATE, .address = place(kWord) + 2, .value = 1},
    {.name = "WakeNoBits", .operation = FUTEX_WAKE_BITSET_PRIVATE, .address = 0, .value = 1},
    {.name = "RequeueAnotherValue",
     .operation = FUTEX_CMP_REQUEUE_PRIVATE,
     .address = 0,
     .value = 1,
     .timeout = 1,
     .second = place(kWord),
     .third = 4},
    {.name = "RequeueNegative",
     .operation = FUTEX_CMP_REQUEUE_PRIVATE,
     .address = 0,
     .value = UINT32_MAX,
     .timeout = 1,
     .second = place(kWord),
     .third = 5},
    {.name = "RequeueToHalfAWord",
     .operation = FUTEX_CMP_REQUEUE_PRIVATE,
     .address = 0,
     .value = 1,
     .timeout = 1,
     .second = place(kWord) + 2,
     .third = 5},
    {.name = "UnknownOperation",
     .operation = FUTEX_WAKE_OP_PRIVATE,
     .address = 0,
     .value = 1,
     .timeout = 1,
     .third = std::uint32_t{5} << 28},
    {.name = "UnknownComparison",
     .operation = FUTEX_WAKE_OP_PRIVATE,
     .address = 0,
     .value = 1,
     .timeout = 1,
     .third = std::uint32_t{6} << 24},
    {.name = "NoSecondWord", .operation = FUTEX_WAKE_OP_PRIVATE, .address = 0, .value = 1, .second = kUnreadable},
    {.name = "UnknownOperationOnNoWord",
     .operation = FUTEX_WAKE_OP_PRIVATE,
     .address = 0,
     .value = 1,
     .second = kUnreadable,
     .third = std::uint32_t{5} << 28}};
INSTANTIATE_TEST_SUITE_P(Rows, FutexErrorTest, testing::ValuesIn(kFutexErrors),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(FutexesTest, WakeOpDoesToTheSecondWordWhatTheKernelDoes) {
  for (const std::uint32_t operation : {FUTEX_OP_SET, FUTEX_OP_ADD, FUTEX_OP_OR, FUTEX_OP_ANDN, FUTEX_OP_XOR}) {
    for (const std::uint32_t shifts : {0, FUTEX_OP_OPARG_SHIFT}) {
      for (const std::uint32_t operand : {3U, 0xFFDU}) {
        const std::uint32_t packed = (operation | shifts) << 28 | operand << 12 | 7;
        std::uint32_t by_kernel = 0x1234'5675;
        second_ = by_kernel;
        EXPECT_EQ(raw_syscall(SYS_futex, &word_, FUTEX_WAKE_OP_PRIVATE, 1, 1, &by_kernel, packed), 0);
        EXPECT_EQ(call(FUTEX_WAKE_OP_PRIVATE, 1, 1, address(second_), packed), 0);
        EXPECT_EQ(second_, by_kernel) << packed;
      }
    }
  }
}

TEST_F(FutexesTest, WhoIsWokenComesBackWhenItsTurnHasCome) {
  std::string order;
  const auto waits = [&] {
    const std::optional<long> result = call(FUTEX_WAIT_PRIVATE, 5);
    order += 's';
    return result;
  };
  const auto work = [&] {
    EXPECT_EQ(call_at(address(second_), FUTEX_WAKE_PRIVATE, 9), 0) << "nobody waits there";
    EXPECT_FALSE(run_.lock.contended());
    EXPECT_EQ(call(FUTEX_WAKE_PRIVATE, 9), 1);
    EXPECT_TRUE(run_.lock.contended()) << "it has a place now";
    order += 'o';
  };
  EXPECT_EQ(beside(work, waits), 0);
  EXPECT_EQ(order, "os");
  EXPECT_EQ(heard_.flushes, 1) << "what is known is told before the wait";
}

TEST_F(FutexesTest, AWakeOfFewerThanOneWakesOne) {
  EXPECT_EQ(
      beside([this] { EXPECT_EQ(call(FUTEX_WAKE_PRIVATE, 0), 1); }, [this] { return call(FUTEX_WAIT_PRIVATE, 5); }), 0);
}

TEST_F(FutexesTest, OneWhoWasMovedIsWokenAtTheOtherWord) {
  const auto work = [this] {
    EXPECT_EQ(call(FUTEX_CMP_REQUEUE_PRIVATE, 0, 1, address(second_), 5), 1);
    EXPECT_EQ(call(FUTEX_WAKE_PRIVATE, 1), 0);
    EXPECT_EQ(call_at(address(second_), FUTEX_WAKE_PRIVATE, 1), 1);
  };
  EXPECT_EQ(beside(work, [this] { return call(FUTEX_WAIT_PRIVATE, 5); }), 0);
}

TEST_F(FutexesTest, WakeOpWakesAtTheSecondWordIfWhatWasThereCompares) {
  constexpr std::uint32_t kSetTo1 = FUTEX_OP_SET << 28 | 1 << 12;
  const auto compares = [](std::uint32_t comparison, std::uint32_t value) {
    return kSetTo1 | comparison << 24 | value;
  };
  const auto work = [&] {
    for (const std::uint32_t holds_not :
         {compares(FUTEX_OP_CMP_EQ, 6), compares(FUTEX_OP_CMP_NE, 7), compares(FUTEX_OP_CMP_LT, 7),
          compares(FUTEX_OP_CMP_LE, 6), compares(FUTEX_OP_CMP_GT, 7), compares(FUTEX_OP_CMP_GE, 8)}) {
      second_ = 7;
      EXPECT_EQ(call_at(address(kWord), FUTEX_WAKE_OP_PRIVATE, 1, 1, address(second_), holds_not), 0) << holds_not;
    }
    second_ = 7;
    EXPECT_EQ(call_at(address(kWord), FUTEX_WAKE_OP_PRIVATE, 1, 1, address(second_), compares(FUTEX_OP_CMP_GT, 0xFFF)),
              1)
        << "more than -1";
  };
  EXPECT_EQ(beside(work, [this] { return call_at(address(second_), FUTEX_WAIT_PRIVATE, 7); }), 0);
}

TEST_F(FutexesTest, AWaitIsOverWhenItsTimeOrASignalHasCome) {
  const std::array<std::int64_t, 2> at_once{};
  EXPECT_EQ(beside([] {}, [&] { return call(FUTEX_WAIT_PRIVATE, 5, address(at_once)); }), -ETIMEDOUT);
  self().pending = kSlotFull;
  EXPECT_EQ(beside([] {}, [&] { return call(FUTEX_WAIT_PRIVATE, 5); }), kInterruptedBeforeStart);
  EXPECT_EQ(call(FUTEX_WAKE_PRIVATE, 9), 0) << "it waits no more";
}

TEST_F(FutexesTest, TheEndOfAThreadClearsItsWordAndWakesWhoJoinsIt) {
  self().clear_at = address(word_);
  std::optional<long> joined;
  const auto ends = [this]() -> std::optional<long> {
    let_other_run();
    parts_.futexes.clear_word_of(self());
    EXPECT_TRUE(run_.lock.contended()) << "who joins it has a place now";
    let_other_run();
    return word_;
  };
  EXPECT_EQ(beside([&] { joined = call(FUTEX_WAIT, 5); }, ends), 0);
  EXPECT_EQ(joined, 0);
}

TEST_F(FutexesTest, UnderVirtualTimeAWaitLastsSoManyTurnsOfTheOthers) {
  run_.config.virtual_time = true;
  self().limit_of_wait = 2 * kTurnNanoseconds;
  int turns = 0;
  const auto work = [&] {
    for (; !run_.lock.contended() && turns < 10; ++turns) parts_.futexes.turn_ended();
  };
  EXPECT_EQ(beside(work, [this] { return call(FUTEX_WAIT_PRIVATE, 5); }), -ETIMEDOUT);
  EXPECT_EQ(turns, 3);
  turns = 0;
  EXPECT_EQ(beside(work, [this] { return parts_.futexes.sleep(0); }), 0);
  EXPECT_EQ(turns, 3);
}

TEST_F(FutexesTest, UnderVirtualTimeTheHostsClockEndsNoWaitWhileOthersCompute) {
  run_.config.virtual_time = true;
  self().limit_of_wait = 0;  // over at once by that clock
  const auto work = [this] {
    for (int i = 0; i < 1000; ++i) {
      sched_yield();
      ASSERT_FALSE(run_.lock.contended());
    }
    parts_.futexes.turn_ended();
    EXPECT_TRUE(run_.lock.contended());
  };
  EXPECT_EQ(beside(work, [this] { return call(FUTEX_WAIT_PRIVATE, 5); }), -ETIMEDOUT);
}

}  // namespace
}  // namespace zs::engine
