#include "engine/memory/shared_memory.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include <cstring>
#include <ostream>
#include <string>

#include "engine/memory/guest_map.h"
#include "engine/memory/test_memory.h"

namespace zs::engine {
namespace {

TEST(SharedMemory, AttachesSharedMemoryAsTheKernelDoes) {
  const int id = shmget(IPC_PRIVATE, 3 * kPageSize + 5, 0600 | IPC_CREAT);
  if (id < 0) GTEST_SKIP() << "no System V shared memory here: " << std::strerror(errno);
  expect_same_as_kernel([&](Memory& memory, std::ostream& out) {
    const auto tell = [&](long result) { out << result_name(result) << " "; };
    tell(memory.shmat(id, page(0), 0));
    tell(memory.shmat(id, page(2), 0));
    tell(memory.shmat(id, page(10) + 9, 0));
    tell(memory.shmat(id, page(10) + 9, SHM_RND | SHM_RDONLY));
    tell(memory.shmat(id, page(2), SHM_REMAP | SHM_EXEC));
    tell(memory.shmat(id, 0, SHM_REMAP));
    tell(memory.shmat(-1, 0, 0));
    tell(memory.munmap(page(11), kPageSize));
    tell(memory.shmdt(page(11)));
    tell(memory.shmdt(page(10) + 1));
    tell(memory.shmdt(page(10)));
    tell(memory.shmdt(page(10)));
    const long chosen = memory.shmat(id, 0, 0);
    tell(chosen);
    *reinterpret_cast<volatile char*>(chosen) = 7;
    out << static_cast<int>(*reinterpret_cast<volatile char*>(page(2))) << " ";
    tell(memory.shmdt(static_cast<std::uint64_t>(chosen)));
    out << "\n";
  });
  shmctl(id, IPC_RMID, nullptr);
}

/// Its id is 0, and that is its inode.
TEST(SharedMemory, ShowsTheFirstSharedMemoryOfANamespaceAsTheKernelDoes) {
  const std::string first = in_child([](std::ostream& out) {
    out << (unshare(CLONE_NEWUSER | CLONE_NEWIPC) == 0 ? shmget(IPC_PRIVATE, kPageSize, 0600 | IPC_CREAT) : -1);
  });
  if (first != "0") GTEST_SKIP() << "no namespace of one's own here";
  expect_same_as_kernel([](Memory& memory, std::ostream& out) {
    unshare(CLONE_NEWUSER | CLONE_NEWIPC);
    const int id = shmget(IPC_PRIVATE, kPageSize, 0600 | IPC_CREAT);
    out << id << " " << result_name(memory.shmat(id, page(0), 0)) << "\n";
  });
}

}  // namespace
}  // namespace zs::engine
