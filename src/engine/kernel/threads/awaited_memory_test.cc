// What is touched in advance, and by whom it is put there: memory of which the program has said that it will come.
#include "engine/kernel/threads/awaited_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "engine/kernel/kernel_parts.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

/// mov eax, [rbx]. mov [rbx], eax. movsd.
constexpr std::uint64_t kLoad = 0, kStore = 1, kMove = 2;

/// Another read would find something.
class PipeWithText {
 public:
  PipeWithText() {
    EXPECT_EQ(pipe(ends_), 0);
    EXPECT_EQ(write(ends_[1], "abc", 3), 3);
  }
  PipeWithText(const PipeWithText&) = delete;
  PipeWithText& operator=(const PipeWithText&) = delete;
  ~PipeWithText() {
    for (const int fd : ends_) close(fd);
  }
  int end() const { return ends_[0]; }
  /// Of a read that has found nothing.
  long read_again(const AwaitedMemory& awaited) const {
    char byte = 0;
    return awaited.read_again({SYS_read, {ends_[0], reinterpret_cast<long>(&byte), 1, 0, 0, 0}}, -EAGAIN);
  }

 private:
  int ends_[2] = {-1, -1};
};

class AwaitedMemoryTest : public RunTest {
 protected:
  static constexpr std::uint64_t kPages = 8;

  void SetUp() override {
    alarm(60);  // who gets no answer would wait for ever
    code_.put(kLoad, {0x8B, 0x03});
    code_.put(kStore, {0x89, 0x03});
    code_.put(kMove, {0xA5});
    count(0, kInstructions, kFar);
    start();
    run_.lock.hold_nobody();
    be_this_thread();
    void* const at = mmap(nullptr, kPages * kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    madvise(at, kPages * kPageSize, MADV_NOHUGEPAGE);
    memory_ = reinterpret_cast<std::uint64_t>(at);
  }
  void TearDown() override {
    munmap(reinterpret_cast<void*>(memory_), kPages * kPageSize);
    alarm(0);
  }

  std::uint64_t page(std::uint64_t number) const { return memory_ + number * kPageSize; }
  /// The program's ioctl for pages [first, end), with that result.
  void note_registered(std::uint64_t first, std::uint64_t end, long result = 0, long fd = kSomeFd) {
    const uffdio_register asked{.range = {.start = page(first), .len = (end - first) * kPageSize},
                                .mode = UFFDIO_REGISTER_MODE_MISSING,
                                .ioctls = 0};
    awaited().note_ioctl({SYS_ioctl, {fd, static_cast<long>(UFFDIO_REGISTER), reinterpret_cast<long>(&asked), 0, 0, 0}},
                         result);
  }
  /// Which pages have been touched, a letter each.
  std::string touched() const {
    unsigned char there[kPages] = {};
    EXPECT_EQ(mincore(reinterpret_cast<void*>(memory_), kPages * kPageSize, there), 0);
    std::string text;
    for (const unsigned char each : there) text += (each & 1) != 0 ? 't' : '-';
    return text;
  }
  void stand_before(std::uint64_t code) { run_.thread->pc = Pages::pc(code); }
  AwaitedMemory& awaited() { return parts_.awaited; }

  static constexpr long kSomeFd = 77;
  KernelParts parts_{run_, accountant_};
  std::uint64_t memory_ = 0;
};

TEST_F(AwaitedMemoryTest, IsWhatAUserfaultfdHasBeenRegisteredFor) {
  EXPECT_FALSE(awaited().any());
  note_registered(1, 3);
  note_registered(5, 6);
  EXPECT_TRUE(awaited().any());
  for (std::uint64_t number = 0; number < kPages; ++number) {
    const bool registered = number == 1 || number == 2 || number == 5;
    EXPECT_EQ(awaited().contains(page(number)), registered) << number;
    EXPECT_EQ(awaited().contains(page(number) + kPageSize - 1), registered) << number;
  }
}

TEST_F(AwaitedMemoryTest, IsNoneWhereTheKernelRefusesOrSomethingElseIsAsked) {
  note_registered(1, 3, -EINVAL);
  const uffdio_register asked{.range = {.start = page(1), .len = kPageSize}, .mode = 0, .ioctls = 0};
  const auto argument = reinterpret_cast<long>(&asked);
  awaited().note_ioctl({SYS_ioctl, {kSomeFd, static_cast<long>(UFFDIO_UNREGISTER), argument, 0, 0, 0}}, 0);
  awaited().note_ioctl({SYS_ioctl, {kSomeFd, static_cast<long>(UFFDIO_REGISTER), 8, 0, 0, 0}}, 0);
  EXPECT_FALSE(awaited().any());
}

TEST_F(AwaitedMemoryTest, AnOperandInItIsTouchedAllOfIt) {
  note_registered(1, 4);
  stand_before(kLoad);
  run_.gpr(kRbx) = page(1) + 8;
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "-t------");
  run_.gpr(kRbx) = page(3) - 2;
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "-ttt----");
}

TEST_F(AwaitedMemoryTest, AnOperandThatLiesInItInPartIsTouched) {
  note_registered(1, 4);
  stand_before(kLoad);
  run_.gpr(kRbx) = page(1) - 2;
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "tt------");
  run_.gpr(kRbx) = page(4) - 2;
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "tt-tt---");
}

TEST_F(AwaitedMemoryTest, EachOperandOfTwoIsTouched) {
  note_registered(1, 6);
  stand_before(kMove);
  run_.gpr(kRsi) = page(2);
  run_.gpr(kRdi) = page(4);
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "--t-t---");
}

TEST_F(AwaitedMemoryTest, WhatLiesElsewhereIsLeftToTheInstruction) {
  note_registered(1, 2);
  stand_before(kLoad);
  run_.gpr(kRbx) = page(3);
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "--------");
}

TEST_F(AwaitedMemoryTest, NothingIsTouchedWhereASignalWaits) {
  note_registered(1, 2);
  stand_before(kLoad);
  run_.gpr(kRbx) = page(1);
  run_.thread->pending = kSlotFull;
  awaited().wait_for_operands();
  EXPECT_EQ(touched(), "--------");
  EXPECT_EQ(run_.lock.owner(), run_.thread);
}

TEST_F(AwaitedMemoryTest, ArgumentsOfACallAreTouched) {
  const long arguments[6] = {1, static_cast<long>(page(1) + 100), static_cast<long>(page(5)), 0, 0, 0};
  awaited().wait_for_arguments({SYS_write, arguments});
  EXPECT_EQ(touched(), "--------") << "nothing is awaited yet";
  note_registered(1, 3);
  awaited().wait_for_arguments({SYS_write, arguments});
  EXPECT_EQ(touched(), "-t------");
}

/// As the program has one: faults of it are reported, and answered here.
class AwaitedMemoryOfAThread : public AwaitedMemoryTest {
 protected:
  void SetUp() override {
    AwaitedMemoryTest::SetUp();
    constexpr int kOfTheProgramOnly = 1;  // UFFD_USER_MODE_ONLY
    fd_ = static_cast<int>(raw_syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kOfTheProgramOnly));
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    uffdio_register asked{
        .range = {.start = page(1), .len = 2 * kPageSize}, .mode = UFFDIO_REGISTER_MODE_MISSING, .ioctls = 0};
    if (fd_ < 0 || ioctl(fd_, UFFDIO_API, &api) != 0 || ioctl(fd_, UFFDIO_REGISTER, &asked) != 0)
      GTEST_SKIP() << "the kernel gives no userfaultfd";
    note_registered(1, 3, 0, fd_);
    other_.process = run_.thread->process;
    run_.lock.give_place(other_);
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
    AwaitedMemoryTest::TearDown();
  }

  void await_fault() const {
    pollfd fault{.fd = fd_, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&fault, 1, -1), 1);
  }
  /// The page comes, full of that.
  void answer(std::uint64_t number, char with) const {
    const std::string contents(kPageSize, with);
    uffdio_copy copy{.dst = page(number),
                     .src = reinterpret_cast<std::uint64_t>(contents.data()),
                     .len = kPageSize,
                     .mode = 0,
                     .copy = 0};
    EXPECT_EQ(ioctl(fd_, UFFDIO_COPY, &copy), 0);
  }
  long read_message(uffd_msg& message, long result) {
    return awaited().read_again({SYS_read, {fd_, reinterpret_cast<long>(&message), sizeof message, 0, 0, 0}}, result);
  }

  int fd_ = -1;
  Thread other_;
};

TEST_F(AwaitedMemoryOfAThread, WhoWaitsForItLetsTheOtherRunWhoPutsItThere) {
  Thread& self = *run_.thread;
  bool had_the_lock = false;
  std::uint64_t flags = 0;
  std::thread other([&] {
    run_.lock.acquire(other_);
    had_the_lock = run_.lock.owner() == &other_;
    await_fault();
    uffd_msg message{};
    EXPECT_EQ(read(fd_, &message, sizeof message), static_cast<ssize_t>(sizeof message));
    flags = message.arg.pagefault.flags;
    answer(1, 'a');
    run_.lock.release();
  });
  stand_before(kStore);
  run_.gpr(kRbx) = page(1) + 4;
  run_.gpr(kRax) = 5;
  awaited().wait_for_operands();
  other.join();
  EXPECT_TRUE(had_the_lock);
  EXPECT_EQ(run_.lock.owner(), &self);
  EXPECT_EQ(run_.thread, &self);
  EXPECT_EQ(run_.gpr(kRax), 5U);
  EXPECT_TRUE(flags & UFFD_PAGEFAULT_FLAG_WRITE) << "as the store would have";
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(page(1)), "aaaaaaaa", 8), 0) << "nothing is changed";
}

TEST_F(AwaitedMemoryOfAThread, AReadThatFoundNothingIsMadeAgainWhileSomebodyTouches) {
  const PipeWithText pipe;
  long result = 0, interrupted = 0, elsewhere = 0;
  uffd_msg message{};
  std::thread other([&] {
    run_.lock.acquire(other_);
    await_fault();
    interrupted = read_message(message, -EINTR);
    elsewhere = pipe.read_again(awaited());
    result = read_message(message, -EAGAIN);
    answer(2, 'b');
    run_.lock.release();
  });
  stand_before(kLoad);
  run_.gpr(kRbx) = page(2);
  awaited().wait_for_operands();
  other.join();
  EXPECT_EQ(interrupted, -EINTR);
  EXPECT_EQ(elsewhere, -EAGAIN) << "no userfaultfd";
  EXPECT_EQ(result, static_cast<long>(sizeof message));
  EXPECT_EQ(message.arg.pagefault.address, page(2));
}

TEST_F(AwaitedMemoryTest, AReadIsNotMadeAgainWhereNobodyTouches) {
  const PipeWithText pipe;
  note_registered(1, 3, 0, pipe.end());
  EXPECT_EQ(pipe.read_again(awaited()), -EAGAIN);
}

}  // namespace
}  // namespace zs::engine
