#include "engine/kernel/calls/call_table.h"

#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace zs::engine {
namespace {

long at(const void* pointer) { return reinterpret_cast<long>(pointer); }

/// As offsets from `base`: "4+8 0+128".
std::string ranges(const Call& call, const long (&arguments)[6], const void* base) {
  std::string out;
  for (const AddressRange& range : written_by(call, arguments)) {
    if (!out.empty()) out += " ";
    out += std::to_string(range.start - reinterpret_cast<std::uint64_t>(base)) + "+" + std::to_string(range.size());
  }
  return out;
}

/// Without a row: the kernel answers them, and there is nothing to know of them.
constexpr long kWithoutRow[] = {SYS_vhangup,
                                SYS_sync,
                                SYS_iopl,
                                SYS_ioperm,
                                SYS_create_module,
                                SYS_get_kernel_syms,
                                SYS_query_module,
                                SYS_nfsservctl,
                                SYS_getpmsg,
                                SYS_putpmsg,
                                SYS_afs_syscall,
                                SYS_tuxcall,
                                SYS_security,
                                SYS_set_thread_area,
                                SYS_io_destroy,
                                SYS_get_thread_area,
                                SYS_lookup_dcookie,
                                SYS_epoll_wait_old,
                                SYS_restart_syscall,
                                SYS_vserver,
                                SYS_unshare,
                                SYS_fanotify_init,
                                SYS_userfaultfd,
                                447 /* memfd_secret */,
                                450 /* set_mempolicy_home_node */};

TEST(CallTable, HasARowForEachCallOfTheKernelsList) {
  constexpr const char* kList = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
  std::ifstream list(kList);
  if (!list) GTEST_SKIP() << "no " << kList;
  int found = 0;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string define, name;
    long number = -1;
    if (!(words >> define >> name >> number) || define != "#define" || name.rfind("__NR_", 0) != 0) continue;
    const bool without = std::ranges::find(kWithoutRow, number) != std::end(kWithoutRow);
    EXPECT_EQ(std::string(call_of(number).name), without ? "" : name.substr(5)) << number;
    ++found;
  }
  EXPECT_GT(found, 350);
}

TEST(CallTable, SaysNothingOfANumberThatNoCallHas) {
  EXPECT_STREQ(call_of(-1).name, "");
  EXPECT_STREQ(call_of(100'000).name, "");
  EXPECT_EQ(call_of(100'000).traits, 0U);
  EXPECT_EQ(call_of(100'000).path, -1);
}

TEST(CallTable, CallsWithVectorsThatCameLaterAreOfFilesAndMayWaitToo) {
  for (const long reads : {SYS_readv, SYS_preadv, SYS_preadv2}) EXPECT_TRUE(call_of(reads).has(kReadsFile)) << reads;
  for (const long writes : {SYS_writev, SYS_pwritev, SYS_pwritev2}) EXPECT_TRUE(call_of(writes).has(kWritesFile));
  EXPECT_TRUE(call_of(SYS_preadv2).has(kMayWait));  // at the file's own position, of a pipe too
}

TEST(CallTable, CallsThatReadNothingBehindTheirAddressesSaySo) {
  for (const long number : {SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_ioctl})
    EXPECT_TRUE(call_of(number).has(kOnlyNames)) << number;
  EXPECT_FALSE(call_of(SYS_write).has(kOnlyNames));
}

TEST(CallTable, FindsWhatACallWrites) {
  char buffer[256] = {};
  EXPECT_EQ(ranges(call_of(SYS_read), {3, at(buffer), 100, 0, 0, 0}, buffer), "0+100");
  EXPECT_EQ(ranges(call_of(SYS_write), {3, at(buffer), 100, 0, 0, 0}, buffer), "");
  EXPECT_EQ(ranges(call_of(SYS_fstat), {3, at(buffer), 0, 0, 0, 0}, buffer), "0+144");
  EXPECT_EQ(ranges(call_of(SYS_poll), {at(buffer), 3, 0, 0, 0, 0}, buffer), "0+24");
  EXPECT_EQ(ranges(call_of(SYS_wait4), {1, at(buffer + 8), 0, 0, 0, 0}, buffer), "8+4");
  EXPECT_EQ(ranges(call_of(SYS_msgrcv), {1, at(buffer), 50, 0, 0, 0}, buffer), "0+58");
  const socklen_t size = 28;
  EXPECT_EQ(ranges(call_of(SYS_accept), {3, at(buffer), at(&size), 0, 0, 0}, buffer).substr(0, 5), "0+28 ");
}

TEST(CallTable, FollowsVectorsAndMessages) {
  char buffer[256] = {};
  iovec pieces[2] = {{buffer, 10}, {buffer + 100, 20}};
  EXPECT_EQ(ranges(call_of(SYS_preadv), {3, at(pieces), 2, 0, 0, 0}, buffer), "0+10 100+20");
  msghdr header{};
  header.msg_name = buffer + 200;
  header.msg_namelen = 16;
  header.msg_control = buffer + 220;
  header.msg_controllen = 24;
  header.msg_iov = pieces;
  header.msg_iovlen = 2;
  const std::string found = ranges(call_of(SYS_recvmsg), {3, at(&header), 0, 0, 0, 0}, buffer);
  EXPECT_NE(found.find("200+16 220+24 0+10 100+20"), std::string::npos) << found;
  mmsghdr headers[1] = {{.msg_hdr = header, .msg_len = 0}};
  const std::string many = ranges(call_of(SYS_recvmmsg), {3, at(headers), 1, 0, 0, 0}, buffer);
  EXPECT_NE(many.find("200+16 220+24 0+10 100+20"), std::string::npos) << many;
}

TEST(CallTable, FollowsControlBlocksThatRead) {
  char buffer[256] = {};
  iocb reads{}, writes{};
  reads.aio_lio_opcode = IOCB_CMD_PREAD;
  reads.aio_buf = reinterpret_cast<std::uint64_t>(buffer + 16);
  reads.aio_nbytes = 64;
  writes = reads;
  writes.aio_lio_opcode = IOCB_CMD_PWRITE;
  const iocb* blocks[] = {&writes, &reads};
  EXPECT_EQ(ranges(call_of(SYS_io_submit), {1, 2, at(blocks), 0, 0, 0}, buffer), "16+64");
}

TEST(CallTable, BadPointersWriteNothing) {
  EXPECT_TRUE(written_by(call_of(SYS_preadv), {3, 8, 2, 0, 0, 0}).empty());
  EXPECT_TRUE(written_by(call_of(SYS_recvmsg), {3, 8, 0, 0, 0, 0}).empty());
  EXPECT_TRUE(written_by(call_of(SYS_read), {3, 0, 100, 0, 0, 0}).empty());
  EXPECT_TRUE(written_by(call_of(SYS_read), {3, -1, 100, 0, 0, 0}).empty());
}

}  // namespace
}  // namespace zs::engine
