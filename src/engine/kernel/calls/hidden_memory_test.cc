#include "engine/kernel/calls/hidden_memory.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

class HiddenMemoryTest : public RunTest {
 protected:
  using Arguments = std::array<long, 6>;

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    ASSERT_EQ(run_.map.mmap(kOwn, kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              kOwn);
  }
  void TearDown() override { run_.map.munmap(kOwn, kPageSize); }

  /// What is called instead; null: what the program calls.
  std::unique_ptr<ReplacedCall> replaced(long number, Arguments arguments) {
    std::memcpy(made_, arguments.data(), sizeof made_);
    return hidden_.replaced({.number = number, .a = made_});
  }
  /// Puts it into the program's memory. returns where
  template <typename T>
  static long put(const T& value, long at = kOwn) {
    std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
    return at;
  }
  static void* pointer(long address) { return reinterpret_cast<void*>(address); }

  static constexpr long kOwn = Pages::kFirst;
  const long hidden_at_ = static_cast<long>(run_.map.layout().code_cache()) + 0x1234;
  const long nowhere_ = static_cast<long>(run_.map.layout().nowhere()) + 0x234;

 private:
  long made_[6] = {};
  HiddenMemory hidden_{run_, run_};
};

TEST_F(HiddenMemoryTest, WhatSomeKindsOfCallsTakeAreNumbersThatMayLookLikeAddresses) {
  for (const long command : {F_SETOWN, F_SETFL, F_SETPIPE_SZ, F_NOTIFY, F_DUPFD_CLOEXEC})
    EXPECT_EQ(replaced(SYS_fcntl, {3, command, hidden_at_}), nullptr) << command;
  for (const long command : {F_GETLK, F_SETOWN_EX})
    EXPECT_NE(replaced(SYS_fcntl, {3, command, hidden_at_}), nullptr) << command;
  constexpr long kKvmSetTssAddress = 0xAE47, kRefreshPerfEvent = 0x2402;
  for (const long command : {kKvmSetTssAddress, kRefreshPerfEvent, long{TCFLSH}, long{BLKRASET}, long{FICLONE}})
    EXPECT_EQ(replaced(SYS_ioctl, {3, command, hidden_at_}), nullptr) << command;
  for (const long command : {long{TCGETS}, long{FIONREAD}, long{BLKGETSIZE}, long{FICLONERANGE}})
    EXPECT_NE(replaced(SYS_ioctl, {3, command, hidden_at_}), nullptr) << command;
  EXPECT_EQ(replaced(SYS_prctl, {PR_SET_TIMERSLACK, hidden_at_}), nullptr);
  EXPECT_NE(replaced(SYS_prctl, {PR_GET_PDEATHSIG, hidden_at_}), nullptr);
}

TEST_F(HiddenMemoryTest, IsReplacedInWhateverArgumentIsAPointer) {
  const struct {
    long number;
    int argument;
  } cases[] = {{SYS_read, 1},   {SYS_write, 1},     {SYS_openat, 1}, {SYS_fstat, 1},          {SYS_execve, 2},
               {SYS_accept, 2}, {SYS_nanosleep, 0}, {SYS_mount, 4},  {SYS_set_tid_address, 0}};
  for (const auto& [number, argument] : cases) {
    Arguments arguments{};
    arguments[static_cast<std::size_t>(argument)] = hidden_at_;
    const auto asked = replaced(number, arguments);
    ASSERT_NE(asked, nullptr) << number;
    for (int i = 0; i < 6; ++i) EXPECT_EQ(asked->arguments[i], i == argument ? nowhere_ : 0) << number;
    EXPECT_EQ(asked->known, std::nullopt);
  }
}

TEST_F(HiddenMemoryTest, IsAllThatMayBeTheTools) {
  run_.map.reserve_until_wanted({0x3'0000'0000, 0x3'0000'1000});
  for (const long address : {0x3'0000'0234L, 0x5500'0000'0234L, reinterpret_cast<long>(&run_) | 1})
    EXPECT_NE(replaced(SYS_read, {0, address, 1}), nullptr) << std::hex << address;
  for (const long address : {0L, kOwn, 0x3'0000'1000L, 0x2010'0000'0000L, -1L})
    EXPECT_EQ(replaced(SYS_read, {0, address, 1}), nullptr) << std::hex << address;
}

TEST_F(HiddenMemoryTest, IsNoMatterForArgumentsThatAreNoPointers) {
  EXPECT_EQ(replaced(SYS_lseek, {3, hidden_at_}), nullptr);
  EXPECT_EQ(replaced(SYS_read, {3, kOwn, hidden_at_}), nullptr);
  EXPECT_EQ(replaced(SYS_keyctl, {8, hidden_at_, hidden_at_}), nullptr);  // numbers of keys
  EXPECT_EQ(replaced(SYS_ptrace, {5, 1, hidden_at_, hidden_at_}), nullptr);
}

TEST_F(HiddenMemoryTest, IsReplacedInVectors) {
  const long at = put(std::array<iovec, 2>{{{pointer(kOwn + 64), 8}, {pointer(hidden_at_), 8}}});
  for (const long number : {SYS_readv, SYS_writev, SYS_preadv2, SYS_pwritev, SYS_vmsplice}) {
    const auto asked = replaced(number, {3, at, 2});
    ASSERT_NE(asked, nullptr) << number;
    std::array<iovec, 2> vectors;
    std::memcpy(vectors.data(), pointer(asked->arguments[1]), sizeof vectors);
    EXPECT_EQ(vectors[0].iov_base, pointer(kOwn + 64));
    EXPECT_EQ(vectors[1].iov_base, pointer(nowhere_));
    EXPECT_EQ(replaced(number, {3, at, 1}), nullptr) << "the second is not named";
  }
}

TEST_F(HiddenMemoryTest, OfAnotherProcessIsItsOwn) {
  const long at = put(iovec{pointer(hidden_at_), 8}), own = put(iovec{pointer(kOwn), 8}, kOwn + 64);
  const long pid = run_.thread->process->pid;
  EXPECT_NE(replaced(SYS_process_vm_writev, {pid, own, 1, at, 1}), nullptr);
  EXPECT_EQ(replaced(SYS_process_vm_writev, {pid + 1, own, 1, at, 1}), nullptr);
  EXPECT_NE(replaced(SYS_process_vm_writev, {pid + 1, at, 1, own, 1}), nullptr);
}

TEST_F(HiddenMemoryTest, EndsMessages) {
  std::array<mmsghdr, 3> messages{};
  messages[2].msg_hdr.msg_control = pointer(hidden_at_);
  const long at = put(messages);
  auto asked = replaced(SYS_sendmmsg, {3, at, 3});
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->arguments[2], 2) << "as far as the kernel would come";
  EXPECT_EQ(asked->known, std::nullopt);
  EXPECT_EQ(replaced(SYS_sendmmsg, {3, at, 2}), nullptr);
  const long last = at + 2 * long{sizeof(mmsghdr)};
  asked = replaced(SYS_recvmmsg, {3, last, 1});
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->known, -EFAULT);
  asked = replaced(SYS_sendmsg, {3, last, 0});
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->known, -EFAULT);
  EXPECT_EQ(replaced(SYS_recvmsg, {3, at, 0}), nullptr);
}

}  // namespace
}  // namespace zs::engine
