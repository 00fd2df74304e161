// Calls that the kernel answers: which of them give the turn away, and what is seen to beside them.
#include "engine/kernel/calls/host_kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

class HostKernelTest : public RunTest {
 protected:
  void SetUp() override {
    alarm(60);  // who never gets a turn would wait for ever
    count(0, kInstructions, kFar);
    start();
    run_.lock.hold_nobody();
    be_this_thread();
    ASSERT_EQ(pipe(pipe_), 0);
    file_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(write(pipe_[1], "abc", 3), 3);
  }
  void TearDown() override {
    for (const int fd : {pipe_[0], pipe_[1], file_}) close(fd);
    alarm(0);
  }

  template <typename... Arguments>
  long call(long number, Arguments... arguments) {
    const long words[6] = {syscall_word(arguments)...};
    return parts_.host.call({number, words});
  }
  /// There is a second thread of the program from now on.
  Thread& add_other() {
    Thread& other = *run_.threads.emplace_back(std::make_unique<Thread>());
    other.process = run_.thread->process;
    return other;
  }
  /// Whether another thread, which waits for its turn, has had it when that call is over.
  template <typename... Arguments>
  bool others_run_in(long number, Arguments... arguments) {
    Thread& self = *run_.thread;
    Thread& other = run_.threads.size() == 1 ? add_other() : *run_.threads.back();
    bool ran = false;
    run_.lock.give_place(other);
    std::thread waits([&] {
      run_.lock.acquire(other);
      ran = true;
      run_.lock.release();
    });
    result_ = call(number, arguments...);
    const bool meanwhile = ran;
    if (!ran) {
      parts_.turns.give_up();
      parts_.turns.come_back(self);
    }
    waits.join();
    EXPECT_TRUE(ran);
    EXPECT_EQ(run_.lock.owner(), &self);
    return meanwhile;
  }

  KernelParts parts_{run_, accountant_};
  int pipe_[2] = {-1, -1}, file_ = -1;
  long result_ = 0;  // of others_run_in()
  char buffer_[2 * PIPE_BUF] = {};
};

TEST_F(HostKernelTest, AnswersAsTheKernelDoes) {
  EXPECT_EQ(call(SYS_getpid), getpid());
  EXPECT_EQ(call(SYS_close, -1), -EBADF);
  EXPECT_EQ(call(SYS_read, pipe_[0], buffer_, 2), 2);
  EXPECT_EQ(std::string(buffer_), "ab");
}

TEST_F(HostKernelTest, ACallThatASignalComesBeforeIsCalledOff) {
  run_.thread->pending = kSlotFull;
  EXPECT_EQ(call(SYS_read, pipe_[0], buffer_, 2), kInterruptedBeforeStart);
  EXPECT_EQ(std::string(buffer_), "");
}

TEST_F(HostKernelTest, OthersRunInACallThatMayWait) {
  EXPECT_TRUE(others_run_in(SYS_read, pipe_[0], buffer_, 1));
  EXPECT_TRUE(others_run_in(SYS_write, pipe_[1], buffer_, PIPE_BUF + 1));
  EXPECT_TRUE(others_run_in(SYS_poll, 0, 0, 0));
  EXPECT_TRUE(others_run_in(SYS_ioctl, file_, TCSBRK, 1));
  struct flock range {};
  EXPECT_TRUE(others_run_in(SYS_fcntl, file_, F_SETLKW, &range));
  std::uint32_t word = 1;
  EXPECT_TRUE(others_run_in(SYS_futex, &word, FUTEX_WAIT, 0, nullptr));
}

TEST_F(HostKernelTest, TheTurnIsKeptInACallThatIsOverAtOnce) {
  EXPECT_FALSE(others_run_in(SYS_getpid));
  EXPECT_FALSE(others_run_in(SYS_read, file_, buffer_, 1));
  EXPECT_FALSE(others_run_in(SYS_write, pipe_[1], buffer_, PIPE_BUF)) << "there is room";
  EXPECT_FALSE(others_run_in(SYS_fcntl, file_, F_GETFD));
  EXPECT_FALSE(others_run_in(SYS_ioctl, file_, TCGETS, buffer_));
  EXPECT_FALSE(others_run_in(SYS_prctl, PR_GET_DUMPABLE));
  EXPECT_FALSE(others_run_in(SYS_getpgrp));
  std::uint32_t word = 1;
  EXPECT_FALSE(others_run_in(SYS_futex, &word, FUTEX_WAKE, 1));
}

TEST_F(HostKernelTest, AWriteIntoAPipeThatIsFullMayWait) {
  ASSERT_EQ(fcntl(pipe_[1], F_SETFL, O_NONBLOCK), 0);
  while (write(pipe_[1], buffer_, PIPE_BUF) > 0) {}
  EXPECT_TRUE(others_run_in(SYS_write, pipe_[1], buffer_, 1));
}

TEST_F(HostKernelTest, OpeningAFileIsOverAtOnceAndAFifoMayWait) {
  const auto others_run_in_open = [this](auto... call) {
    const bool ran = others_run_in(call...);
    if (result_ >= 0) close(static_cast<int>(result_));
    return ran;
  };
  EXPECT_FALSE(others_run_in_open(SYS_open, "/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(others_run_in_open(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(others_run_in_open(SYS_open, "/no/such/file", O_RDONLY));
  const std::string fifo = "/tmp/zs_host_kernel_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(others_run_in_open(SYS_open, fifo.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(others_run_in_open(SYS_openat, AT_FDCWD, fifo.c_str(), O_RDWR | O_CLOEXEC));
  unlink(fifo.c_str());
}

TEST_F(HostKernelTest, WhereMemoryIsAwaitedAnyCallMayNeedWhoPutsItThere) {
  const uffdio_register asked{.range = {.start = 0x1000, .len = 0x1000}, .mode = 0, .ioctls = 0};
  parts_.awaited.note_ioctl(
      {SYS_ioctl, {77, static_cast<long>(UFFDIO_REGISTER), reinterpret_cast<long>(&asked), 0, 0, 0}}, 0);
  EXPECT_TRUE(others_run_in(SYS_getpid));
}

TEST_F(HostKernelTest, WhatIsKnownIsToldBeforeACallThatMayWait) {
  call(SYS_getpid);
  EXPECT_EQ(heard_.flushes, 0);
  call(SYS_poll, 0, 0, 0);
  EXPECT_EQ(heard_.flushes, 1);
  std::uint32_t word = 1;
  call(SYS_futex, &word, FUTEX_WAKE, 1);
  EXPECT_EQ(heard_.flushes, 1);
  call(SYS_futex, &word, FUTEX_WAIT, 0, nullptr);
  EXPECT_EQ(heard_.flushes, 2);
}

TEST_F(HostKernelTest, TheKernelWritesWhereOnlyTranslationsForbidIt) {
  constexpr int kRwx = PROT_READ | PROT_WRITE | PROT_EXEC;
  ASSERT_EQ(run_.map.mmap(Pages::kFirst, 2 * kPageSize, kRwx, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            static_cast<long>(Pages::kFirst));
  run_.map.code().protect(Pages::kFirst);
  run_.map.code().protect(Pages::kFirst + kPageSize);
  EXPECT_EQ(call(SYS_read, pipe_[0], Pages::kFirst, 3), 3);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(Pages::kFirst)), "abc");
  EXPECT_EQ(run_.map.code().protected_pages(), 1U) << "the other page is not written";
  run_.map.munmap(Pages::kFirst, 2 * kPageSize);
}

}  // namespace
}  // namespace zs::engine
