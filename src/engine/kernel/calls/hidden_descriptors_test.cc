#include "engine/kernel/calls/hidden_descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

class HiddenDescriptorsTest : public RunTest {
 protected:
  using Arguments = std::array<long, 6>;

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
  }

  /// What is called instead; null: what the program calls.
  std::unique_ptr<ReplacedCall> replaced(long number, Arguments arguments) {
    std::memcpy(made_, arguments.data(), sizeof made_);
    return hidden_.replaced({.number = number, .a = made_});
  }
  static long at(const void* memory) { return reinterpret_cast<long>(memory); }
  /// The element of that number in memory that the call names instead.
  template <typename T>
  static T element(const ReplacedCall& call, int argument, std::size_t number = 0) {
    T value;
    std::memcpy(&value, reinterpret_cast<const T*>(call.arguments[argument]) + number, sizeof value);
    return value;
  }

  static constexpr int kOurs = ReservedAddresses::kFirstPrivateFd, kTheirs = 5;
  static constexpr int kLast = kOurs + kPrivateDescriptors - 1;

 private:
  long made_[6] = {};
  HiddenDescriptors hidden_{run_, run_, run_.config};
};

TEST_F(HiddenDescriptorsTest, AreReplacedInArgumentsByOneThatIsNeverOpen) {
  for (const int fd : {kOurs, kLast}) {
    const auto call = replaced(SYS_read, {fd, 1000, 10});
    ASSERT_NE(call, nullptr) << fd;
    EXPECT_EQ(call->arguments[0], INT_MAX);
    EXPECT_EQ(call->arguments[1], 1000);
    EXPECT_EQ(call->arguments[2], 10);
    EXPECT_EQ(call->known, std::nullopt);
  }
}

TEST_F(HiddenDescriptorsTest, LeaveTheProgramsOwnAsTheyAre) {
  for (const int fd : {kTheirs, kOurs - 1, kLast + 1, -1, AT_FDCWD}) EXPECT_EQ(replaced(SYS_read, {fd}), nullptr) << fd;
  EXPECT_EQ(replaced(SYS_lseek, {kTheirs, kOurs}), nullptr);  // an offset, no descriptor
  EXPECT_EQ(replaced(SYS_getpid, {kOurs}), nullptr);
}

TEST_F(HiddenDescriptorsTest, AreWordsOf32Bits) {
  const auto call = replaced(SYS_close, {(1L << 32) + kOurs});
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->arguments[0], INT_MAX);
}

TEST_F(HiddenDescriptorsTest, AreToldWhereTheProgramWantsTheNumber) {
  ASSERT_NE(replaced(SYS_dup2, {kTheirs, kOurs}), nullptr);
  ASSERT_EQ(heard_.notices.size(), 1u);
  EXPECT_NE(heard_.notices[0].find("dup2 was answered EBADF"), std::string::npos) << heard_.notices[0];
  ASSERT_NE(replaced(SYS_dup2, {kOurs, kTheirs}), nullptr);
  EXPECT_EQ(heard_.notices.size(), 1u);  // to copy one is answered as any that is not open
}

TEST_F(HiddenDescriptorsTest, AreLookedForWhereTheCommandSays) {
  ASSERT_NE(replaced(SYS_ioctl, {kTheirs, FICLONE, kOurs}), nullptr);
  EXPECT_EQ(replaced(SYS_ioctl, {kTheirs, FIONREAD, kOurs}), nullptr);
  ASSERT_NE(replaced(SYS_kcmp, {1, 1, KCMP_FILE, kTheirs, kOurs}), nullptr);
  EXPECT_EQ(replaced(SYS_kcmp, {1, 1, KCMP_VM, kTheirs, kOurs}), nullptr);
}

TEST_F(HiddenDescriptorsTest, AreReplacedInACopyOfWhatIsPolledWhoseAnswersComeBack) {
  std::array<pollfd, 3> polled{{{kTheirs, POLLIN, 0}, {kOurs, POLLOUT, 0}, {-1, POLLIN, 0}}};
  const auto call = replaced(SYS_poll, {at(polled.data()), polled.size(), 100});
  ASSERT_NE(call, nullptr);
  EXPECT_NE(call->arguments[0], at(polled.data()));
  EXPECT_EQ(element<pollfd>(*call, 0, 0).fd, kTheirs);
  EXPECT_EQ(element<pollfd>(*call, 0, 1).fd, INT_MAX);
  EXPECT_EQ(element<pollfd>(*call, 0, 2).fd, -1);
  reinterpret_cast<pollfd*>(call->arguments[0])[1].revents = POLLNVAL;  // as the kernel answers
  call->give_back(run_, -EINTR);
  EXPECT_EQ(polled[1].revents, 0);
  call->give_back(run_, 1);
  EXPECT_EQ(polled[1].revents, POLLNVAL);
  EXPECT_EQ(polled[1].fd, kOurs);

  polled[1].fd = kTheirs;
  EXPECT_EQ(replaced(SYS_poll, {at(polled.data()), polled.size(), 100}), nullptr);
  EXPECT_EQ(replaced(SYS_poll, {0, 3, 100}), nullptr);  // the kernel's EFAULT
}

TEST_F(HiddenDescriptorsTest, InASetAreKnownNotToBeOpen) {
  fd_set read, write;
  FD_ZERO(&read);
  FD_ZERO(&write);
  FD_SET(kTheirs, &read);
  const Arguments call{kOurs + 1, at(&read), at(&write)};
  EXPECT_EQ(replaced(SYS_select, call), nullptr);
  FD_SET(kOurs, &write);
  const auto refused = replaced(SYS_select, call);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->known, -EBADF);
  EXPECT_EQ(replaced(SYS_select, {kOurs, at(&read), at(&write)}), nullptr);  // behind those that are asked for
}

TEST_F(HiddenDescriptorsTest, AreNotPassedOnByAMessage) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const auto passes = [&](int first, int second) {
    const std::array<int, 2> fds{first, second};
    std::memcpy(CMSG_DATA(rights), fds.data(), sizeof fds);
    return replaced(SYS_sendmsg, {kTheirs, at(&message)});
  };
  EXPECT_EQ(passes(kTheirs, kTheirs), nullptr);
  const auto call = passes(kTheirs, kOurs);
  ASSERT_NE(call, nullptr);
  auto instead = element<msghdr>(*call, 1);
  std::array<int, 2> fds{};
  std::memcpy(fds.data(), CMSG_DATA(CMSG_FIRSTHDR(&instead)), sizeof fds);
  EXPECT_EQ(fds, (std::array<int, 2>{kTheirs, INT_MAX}));
  rights->cmsg_type = SCM_CREDENTIALS;  // no descriptors
  EXPECT_EQ(passes(kTheirs, kOurs), nullptr);
}

TEST_F(HiddenDescriptorsTest, AreReplacedInABlockOfItsOwnOfAsynchronousInput) {
  iocb theirs{}, ours{};
  theirs.aio_fildes = kTheirs;
  ours.aio_fildes = kOurs;
  const std::array<const iocb*, 2> blocks{&theirs, &ours};
  const auto call = replaced(SYS_io_submit, {1000, blocks.size(), at(blocks.data())});
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(element<const iocb*>(*call, 2, 0), &theirs);
  EXPECT_EQ(element<const iocb*>(*call, 2, 1)->aio_fildes, static_cast<std::uint32_t>(INT_MAX));
  EXPECT_EQ(ours.aio_fildes, static_cast<std::uint32_t>(kOurs));
}

}  // namespace
}  // namespace zs::engine
