// What a thread or a process of the program begins with, and what a clone that does not come about leaves behind.
#include "engine/kernel/threads.h"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// In the place of the dispatcher: who goes on in the program ends at once.
class EndsAtOnce final : public Resumes {
 public:
  struct Began {
    ThreadIdentity id;
    std::array<std::uint64_t, 16> gpr;
    std::uint64_t pc, fs_base, mask;
    std::size_t threads;
  };
  explicit EndsAtOnce(KernelParts& parts) : parts_(parts) {}
  std::uint64_t resume(std::uint32_t /*link_from*/) override {
    const Run& run = parts_.run;
    Began& now = began.emplace_back(Began{.id = run.thread->id,
                                          .gpr = {},
                                          .pc = run.thread->pc,
                                          .fs_base = run.context.fs_base,
                                          .mask = run.thread->mask,
                                          .threads = run.threads.size()});
    std::memcpy(now.gpr.data(), run.context.gpr, sizeof now.gpr);
    threads->exit_thread(0);
  }

  Threads* threads = nullptr;
  std::vector<Began> began;

 private:
  KernelParts& parts_;
};

class ThreadsTest : public RunTest {
 protected:
  static constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  static constexpr std::uint64_t kStack = 0x7000'0000, kTls = 0x7100'0000, kPc = 0x40'1000;

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    Thread& thread = be_this_thread();
    thread.process->recorded = true;
    thread.pc = kPc;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &mask_before_, sizeof mask_before_);
    run_.gpr(kRax) = SYS_clone;
    run_.gpr(kRbx) = 77;
    run_.gpr(kRsp) = 0x6000'0000;
    resumes_.threads = &threads_;
  }
  void TearDown() override {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before_, nullptr, sizeof mask_before_);
  }

  /// Until the others have ended, or wait.
  void let_others_run() {
    Thread& self = *run_.thread;
    parts_.turns.give_up();
    parts_.turns.come_back(self);
  }
  /// As if nobody had ever been asked for.
  void expect_alone() {
    EXPECT_EQ(run_.threads.size(), 1U);
    EXPECT_FALSE(run_.lock.contended());
    EXPECT_EQ(run_.lock.owner(), run_.thread);
    EXPECT_EQ(run_.thread->vfork_child, nullptr);
    EXPECT_TRUE(resumes_.began.empty());
  }

  KernelParts parts_{run_, accountant_};
  EndsAtOnce resumes_{parts_};
  Threads threads_{parts_, resumes_};
  std::uint64_t mask_before_ = 0;
};

TEST_F(ThreadsTest, AThreadBeginsBehindTheCallWithItsParentsRegistersAndWhatTheCallGaveIt) {
  alignas(4) std::uint32_t ends = 1;
  run_.thread->mask = signal_bit(SIGUSR2);
  const long tid = threads_.clone({.flags = kThread | CLONE_SETTLS | CLONE_CHILD_CLEARTID,
                                   .stack = kStack,
                                   .child_tid = reinterpret_cast<std::uint64_t>(&ends),
                                   .tls = kTls});
  ASSERT_GT(tid, 0);
  EXPECT_EQ(run_.threads.size(), 2U);
  EXPECT_TRUE(resumes_.began.empty()) << "it waits for its turn";
  let_others_run();

  ASSERT_EQ(resumes_.began.size(), 1U);
  const EndsAtOnce::Began& child = resumes_.began.front();
  EXPECT_EQ(child.id.tid, tid);
  EXPECT_EQ(child.id.pid, getpid());
  EXPECT_EQ(child.id.parent_tid, run_.thread->id.tid);
  EXPECT_EQ(child.gpr[kRax], 0U);
  EXPECT_EQ(child.gpr[kRbx], 77U);
  EXPECT_EQ(child.gpr[kRsp], kStack);
  EXPECT_EQ(child.pc, kPc);
  EXPECT_EQ(child.fs_base, kTls);
  EXPECT_EQ(child.mask, signal_bit(SIGUSR2));
  EXPECT_EQ(child.threads, 2U);

  EXPECT_EQ(run_.threads.size(), 1U);
  EXPECT_EQ(ends, 0U) << "what pthread_join waits for";
  EXPECT_EQ(run_.gpr(kRsp), 0x6000'0000U);
}

TEST_F(ThreadsTest, WithoutAStackOrTlsOfItsOwnItHasItsParents) {
  run_.context.fs_base = 0x7200'0000;
  ASSERT_GT(threads_.clone({.flags = kThread}), 0);
  let_others_run();
  ASSERT_EQ(resumes_.began.size(), 1U);
  EXPECT_EQ(resumes_.began.front().gpr[kRsp], 0x6000'0000U);
  EXPECT_EQ(resumes_.began.front().fs_base, 0x7200'0000U);
}

TEST_F(ThreadsTest, ThreadsBeginInTheOrderInWhichTheyWereAskedFor) {
  std::vector<long> tids;
  for (int i = 0; i < 5; ++i) tids.push_back(threads_.clone({.flags = kThread, .stack = kStack}));
  let_others_run();
  std::vector<long> began;
  for (const EndsAtOnce::Began& child : resumes_.began) began.push_back(child.id.tid);
  EXPECT_EQ(began, tids);
}

TEST_F(ThreadsTest, WhatTheKernelRefusesLeavesNothingBehind) {
  EXPECT_EQ(threads_.clone({.flags = CLONE_VM | CLONE_THREAD, .stack = kStack}), -EINVAL);
  expect_alone();
  EXPECT_EQ(threads_.clone({.flags = CLONE_VM | CLONE_THREAD | CLONE_VFORK, .stack = kStack}), -EINVAL);
  expect_alone();
}

TEST_F(ThreadsTest, ASignalThatWaitsCallsItOffBeforeTheKernelHearsOfIt) {
  run_.thread->pending = kSlotFull;
  EXPECT_EQ(threads_.clone({.flags = kThread, .stack = kStack}), kInterruptedBeforeStart);
  expect_alone();
  EXPECT_EQ(threads_.clone({.flags = SIGCHLD}), kInterruptedBeforeStart);
  expect_alone();
}

TEST_F(ThreadsTest, AForkThatDoesNotComeAboutDrawsNoRandomNumbers) {
  VirtualClock before = parts_.clock;
  EXPECT_EQ(threads_.clone({.flags = CLONE_SIGHAND | SIGCHLD}), -EINVAL);
  EXPECT_EQ(parts_.clock.random(), before.random());
  EXPECT_EQ(run_.thread->process->children, 0U);
  expect_alone();
}

TEST_F(ThreadsTest, AForkedChildIsAloneAndKnowsWhoItIs) {
  ASSERT_GT(threads_.clone({.flags = kThread, .stack = kStack}), 0);  // has not begun
  const std::int32_t parent = getpid();
  const long pid = threads_.clone({.flags = SIGCHLD | CLONE_SETTLS, .stack = kStack, .tls = kTls});
  if (pid == 0) {
    const Thread& self = *run_.thread;
    const std::array<bool, 7> holds = {run_.threads.size() == 1,
                                       self.process->pid == getpid() && self.id.pid == getpid(),
                                       self.process->parent_pid == parent && self.id.parent_pid == parent,
                                       self.process->children == 0,
                                       run_.lock.owner() == run_.thread && !run_.lock.contended(),
                                       run_.gpr(kRsp) == kStack && run_.gpr(kRbx) == 77,
                                       run_.context.fs_base == kTls};
    unsigned wrong = 0;
    for (std::size_t i = 0; i < holds.size(); ++i) wrong |= unsigned{!holds[i]} << i;
    _exit(static_cast<int>(wrong));
  }
  ASSERT_GT(pid, 0);
  int status = 0;
  ASSERT_EQ(waitpid(static_cast<pid_t>(pid), &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0) << "a bit for each that does not hold";
  EXPECT_EQ(run_.thread->process->children, 1U);
  EXPECT_EQ(run_.threads.size(), 2U);
  let_others_run();
  EXPECT_EQ(resumes_.began.size(), 1U) << "in the parent, alone";
}

/// As clone3(2) has them, and eight bytes that no kernel knows yet.
struct Clone3Arguments {
  std::uint64_t flags = 0, pidfd = 0, child_tid = 0, parent_tid = 0, exit_signal = 0, stack = 0, stack_size = 0,
                tls = 0, set_tid = 0, set_tid_size = 0, cgroup = 0, unknown = 0;
};

struct RefusedClone3 {
  const char* name;
  Clone3Arguments arguments;
  std::uint64_t size;
  bool readable;
  bool kernel_agrees;  // what we leave out it may know
  long result;
};

class RefusedClone3Test : public ThreadsTest, public testing::WithParamInterface<RefusedClone3> {};

TEST_P(RefusedClone3Test, AsTheKernelDoes) {
  const RefusedClone3& row = GetParam();
  const std::uint64_t at = row.readable ? reinterpret_cast<std::uint64_t>(&row.arguments) : 8;
  EXPECT_EQ(threads_.clone3(at, row.size), row.result);
  if (row.kernel_agrees) {
    EXPECT_EQ(raw_syscall(SYS_clone3, at, row.size), row.result);
  }
  expect_alone();
}

constexpr std::uint64_t kFirstSize = 64, kKnownSize = sizeof(Clone3Arguments) - 8, kTooLarge = 4096 + 8;
const RefusedClone3 kRefused[] = {
    {"TooSmall", {}, kFirstSize - 8, true, true, -EINVAL},
    {"LargerThanAPage", {}, kTooLarge, true, true, -E2BIG},
    {"NotReadable", {}, kKnownSize, false, true, -EFAULT},
    {"SomethingUnknown", {.unknown = 1}, sizeof(Clone3Arguments), true, true, -E2BIG},
    {"ASignalAmongTheFlags", {.flags = SIGCHLD}, kKnownSize, true, true, -EINVAL},
    {"AStackWithoutASize", {.stack = 0x7000'0000}, kKnownSize, true, true, -EINVAL},
    {"ASizeWithoutAStack", {.stack_size = 4096}, kKnownSize, true, true, -EINVAL},
    {"TidsWithoutAPlace", {.set_tid_size = 1}, kKnownSize, true, true, -EINVAL},
    {"APlaceWithoutTids", {.set_tid = 0x7000'0000}, kKnownSize, true, true, -EINVAL},
    {"TooManyTids", {.set_tid = 0x7000'0000, .set_tid_size = 33}, kKnownSize, true, true, -EINVAL},
    {"IntoNoCgroup", {.flags = CLONE_INTO_CGROUP, .cgroup = 4000}, kKnownSize, true, true, -EBADF},
    {"NoFlag", {.flags = std::uint64_t{1} << 40}, kKnownSize, true, true, -EINVAL},
    {"NoSignal", {.exit_signal = 0x100}, kKnownSize, true, true, -EINVAL},
    {"HandlersSharedAndForgotten",
     {.flags = CLONE_VM | CLONE_SIGHAND | CLONE_CLEAR_SIGHAND},
     kKnownSize,
     true,
     true,
     -EINVAL},
};
INSTANTIATE_TEST_SUITE_P(Rows, RefusedClone3Test, testing::ValuesIn(kRefused),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace zs::engine
