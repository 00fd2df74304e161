// The shadow map against the kernel: the same calls made natively in one process and through GuestMap in another must
// give the same results and leave the same /proc/self/maps. Everything runs in forked children, because it rearranges
// the address space.
#include "engine/memory/guest_map.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <string>

#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What `body` writes, run in a process of its own; "killed by signal N" if it dies.
std::string in_child(const std::function<void(std::ostream&)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::ostringstream out;
    body(out);
    const std::string text = out.str();
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = write(ends[1], text.data() + done, text.size() - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) text += "killed by signal " + std::to_string(WTERMSIG(status));
  return text;
}

/// The memory system calls, made by the kernel or by the map.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual long mmap(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset) = 0;
  virtual long munmap(std::uint64_t address, std::uint64_t length) = 0;
  virtual long mremap(std::uint64_t address, std::uint64_t old_length, std::uint64_t length, int flags,
                      std::uint64_t target) = 0;
  virtual long mprotect(std::uint64_t address, std::uint64_t length, int prot) = 0;
  virtual long madvise(std::uint64_t address, std::uint64_t length, int advice) = 0;
  virtual long shmat(int id, std::uint64_t address, int flags) = 0;
  virtual long shmdt(std::uint64_t address) = 0;
  virtual std::string maps() = 0;
};

class Native final : public Memory {
 public:
  long mmap(std::uint64_t a, std::uint64_t l, int p, int f, int fd, std::uint64_t o) override {
    return raw_syscall(SYS_mmap, a, l, p, f, fd, o);
  }
  long munmap(std::uint64_t a, std::uint64_t l) override { return raw_syscall(SYS_munmap, a, l); }
  long mremap(std::uint64_t a, std::uint64_t o, std::uint64_t l, int f, std::uint64_t t) override {
    return raw_syscall(SYS_mremap, a, o, l, f, t);
  }
  long mprotect(std::uint64_t a, std::uint64_t l, int p) override { return raw_syscall(SYS_mprotect, a, l, p); }
  long madvise(std::uint64_t a, std::uint64_t l, int v) override { return raw_syscall(SYS_madvise, a, l, v); }
  long shmat(int id, std::uint64_t a, int f) override { return raw_syscall(SYS_shmat, id, a, f); }
  long shmdt(std::uint64_t a) override { return raw_syscall(SYS_shmdt, a); }
  std::string maps() override { return read_whole_file("/proc/self/maps"); }
};

class Mapped final : public Memory {
 public:
  long mmap(std::uint64_t a, std::uint64_t l, int p, int f, int fd, std::uint64_t o) override {
    return map.mmap(a, l, p, f, fd, o);
  }
  long munmap(std::uint64_t a, std::uint64_t l) override { return map.munmap(a, l); }
  long mremap(std::uint64_t a, std::uint64_t o, std::uint64_t l, int f, std::uint64_t t) override {
    return map.mremap(a, o, l, f, t);
  }
  long mprotect(std::uint64_t a, std::uint64_t l, int p) override { return map.mprotect(a, l, p); }
  long madvise(std::uint64_t a, std::uint64_t l, int v) override { return map.madvise(a, l, v); }
  long shmat(int id, std::uint64_t a, int f) override { return map.shmat(id, a, f); }
  long shmdt(std::uint64_t a) override { return map.shmdt(a); }
  std::string maps() override { return map.proc_maps(); }

  GuestMap map{Layout{}};
};

/// A stretch of addresses that neither the kernel nor the map uses by itself.
constexpr std::uint64_t kArena = 0x3100'0000'0000;
constexpr std::uint64_t kArenaPages = 64;
constexpr std::uint64_t page(std::uint64_t number) { return kArena + number * kPageSize; }

bool joins(const RealMapping& left, const RealMapping& right) {
  return left.end == right.start && left.prot == right.prot && left.shared == right.shared && left.path == right.path &&
         left.inode == right.inode && left.device_major == right.device_major &&
         left.device_minor == right.device_minor &&
         (left.inode == 0 || left.offset + left.range().size() == right.offset);
}

/// The arena's lines of a maps file, with neighbours joined that the kernel had no need to keep apart.
std::string arena(const std::string& maps) {
  std::vector<RealMapping> kept;
  for (const RealMapping& each : parse_maps(maps)) {
    if (!each.range().overlaps({kArena, page(kArenaPages)})) continue;
    if (!kept.empty() && joins(kept.back(), each)) {
      kept.back().end = each.end;
    } else {
      kept.push_back(each);
    }
  }
  std::string text;
  for (const RealMapping& each : kept) text += maps_line(each);
  return text;
}

bool in_one_mapping(Memory& memory, AddressRange range) {
  for (const RealMapping& each : parse_maps(arena(memory.maps()))) {
    if (each.range().overlaps(range)) return each.range().contains(range);
  }
  return true;  // unmapped
}

std::string result_name(long result) { return is_error(result) ? strerrorname_np(static_cast<int>(-result)) : "ok"; }

/// Results of fixed addresses are compared as they are, of chosen ones only as success.
using Story = std::function<void(Memory&, std::ostream&)>;

void expect_same_as_kernel(const Story& story) {
  const std::string native = in_child([&](std::ostream& out) {
    Native memory;
    story(memory, out);
    out << arena(memory.maps());
  });
  const std::string mapped = in_child([&](std::ostream& out) {
    Mapped memory;
    story(memory, out);
    out << arena(memory.maps());
  });
  EXPECT_EQ(native, mapped);
}

constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int kRw = PROT_READ | PROT_WRITE;
constexpr int kRx = PROT_READ | PROT_EXEC;
constexpr int kRwx = kRw | PROT_EXEC;

int temporary_file(std::uint64_t bytes) {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  return memfd_create("file", 0);
}

// --- Results as the kernel's ---------------------------------------------------------------------------------------

TEST(GuestMap, RefusesMmapArgumentsAsTheKernelDoes) {
  const int file = temporary_file(4 * kPageSize);
  const int read_only = open("/proc/self/exe", O_RDONLY);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const int write_only = open("/dev/null", O_WRONLY);
  expect_same_as_kernel([&](Memory& memory, std::ostream& out) {
    const struct {
      std::uint64_t address, length;
      int prot, flags, fd;
      std::uint64_t offset;
    } calls[] = {
        {0, 0, kRw, kPrivate, -1, 0},
        {0, ~0ull, kRw, kPrivate, -1, 0},
        {0, ~0ull - 8191, kRw, kPrivate, -1, 0},
        {0, 1ull << 47, kRw, kPrivate, -1, 0},
        {0, 4096, kRw, MAP_ANONYMOUS, -1, 0},
        {0, 4096, kRw, MAP_ANONYMOUS | MAP_SHARED_VALIDATE, -1, 0},
        {0, 4096, kRw, MAP_PRIVATE, -1, 0},
        {0, 4096, kRw, MAP_PRIVATE, 999, 0},
        {0, 4096, kRw, MAP_PRIVATE, file, 1},
        {0, 4096, kRw, kPrivate, -1, 17},
        {0, 4096, kRw, MAP_PRIVATE, file, ~0ull << 12},
        {0, 0, kRw, MAP_PRIVATE, 999, 0},
        {0, 4096, PROT_READ, MAP_PRIVATE, pipe_ends[0], 0},
        {0, 4096, PROT_READ, MAP_PRIVATE, write_only, 0},
        {0, 4096, kRw, MAP_SHARED, read_only, 0},
        {0, 4096, kRwx, MAP_PRIVATE, read_only, 0},
        {0, 4096, PROT_READ, MAP_SHARED, read_only, 0},
        {0, 4096, PROT_READ, MAP_SHARED_VALIDATE, file, 0},
        {0, 4096, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0},
        {page(1) + 1, 4096, kRw, kPrivate | MAP_FIXED, -1, 0},
        {page(1), 4097, kRw, kPrivate | MAP_FIXED, -1, 0},
        {page(1), 4096, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0},
        {page(2), 8192, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0},
        {page(3), 4096, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0},
        {page(3) + 7, 4096, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0},
        {~0ull << 12, 4096, kRw, kPrivate | MAP_FIXED, -1, 0},
        {1ull << 46, 1ull << 47, kRw, kPrivate | MAP_FIXED, -1, 0},
        {0, 4096, 0x7fffffff, kPrivate, -1, 0},
        {page(5), 4096, kRw, MAP_PRIVATE | MAP_FIXED, 999, 0},
        {page(1), 4096, kRw, MAP_PRIVATE | MAP_FIXED, 999, 0},
        {page(9), 4096, kRw, MAP_PRIVATE, file, 2 * kPageSize},
        {page(10) + 5, 4096, PROT_READ, MAP_SHARED, file, 2 * kPageSize},
        {page(10), 4096, PROT_READ, MAP_SHARED, file, 2 * kPageSize},
    };
    for (const auto& call : calls) {
      const long result = memory.mmap(call.address, call.length, call.prot, call.flags, call.fd, call.offset);
      out << result_name(result) << " ";
      if (!is_error(result) && static_cast<std::uint64_t>(result) >= kArena &&
          static_cast<std::uint64_t>(result) < page(kArenaPages)) {
        out << (static_cast<std::uint64_t>(result) - kArena) / kPageSize << " ";
      }
    }
    out << "\n";
  });
  for (const int fd : {file, read_only, pipe_ends[0], pipe_ends[1], write_only}) close(fd);
}

TEST(GuestMap, RefusesMunmapMprotectMremapArgumentsAsTheKernelDoes) {
  expect_same_as_kernel([](Memory& memory, std::ostream& out) {
    const auto tell = [&](long result) { out << result_name(result) << " "; };
    tell(memory.mmap(page(0), 8 * kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0));
    tell(memory.munmap(page(0) + 1, 4096));
    tell(memory.munmap(page(0), 0));
    tell(memory.munmap(page(0), ~0ull));
    tell(memory.munmap(~0ull << 12, 4096));
    tell(memory.munmap(page(40), 4096));
    tell(memory.munmap(page(7), 4097));
    tell(memory.mprotect(page(0) + 1, 4096, PROT_READ));
    tell(memory.mprotect(page(0), 0, PROT_READ));
    tell(memory.mprotect(page(40), 0, PROT_READ));
    tell(memory.mprotect(page(0), ~0ull - 4095, PROT_READ));
    tell(memory.mprotect(page(0), 4096, 0x1000));
    tell(memory.mprotect(page(0), 4096, PROT_READ | 8));
    tell(memory.mprotect(page(40), 4096, PROT_READ));
    tell(memory.mprotect(page(5), 4 * 4096, PROT_READ));  // done up to the hole
    tell(memory.mprotect(page(0), 4096, PROT_READ | PROT_GROWSDOWN));
    tell(memory.mprotect(page(0), 4096, PROT_READ | PROT_GROWSUP));
    tell(memory.mprotect(page(0), 4096, PROT_READ | PROT_GROWSUP | PROT_GROWSDOWN));
    tell(memory.mremap(page(0) + 1, 4096, 4096, 0, 0));
    tell(memory.mremap(page(0), 4096, 0, 0, 0));
    tell(memory.mremap(page(0), 4096, 4096, 8, 0));
    tell(memory.mremap(page(0), 4096, 4096, MREMAP_FIXED, page(20)));
    tell(memory.mremap(page(0), 4096, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0));
    tell(memory.mremap(page(0), 4096, 4096, MREMAP_DONTUNMAP, 0));
    tell(memory.mremap(page(40), 4096, 4096, 0, 0));
    tell(memory.mremap(page(0), 0, 4096, MREMAP_MAYMOVE, 0));
    tell(memory.mremap(page(0), 4096, 8192, 0, 0));
    tell(memory.mremap(page(4), 4 * 4096, 8 * 4096, MREMAP_MAYMOVE, 0));
    tell(memory.mremap(page(0), 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, page(1)));
    tell(memory.mremap(page(0), 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, page(20) + 3));
    tell(memory.mremap(page(0), 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, ~0ull << 12));
    tell(memory.mremap(page(0), 4096, 1ull << 47, MREMAP_MAYMOVE, 0) == 0 ? 0 : -1);
    tell(memory.mremap(page(0), 2 * 4096, 4096, 0, 0));
    tell(memory.mremap(page(2), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, page(30)));
    tell(memory.mremap(page(30), 4096, 3 * 4096, 0, 0));
    tell(memory.madvise(page(0) + 1, 4096, MADV_DONTNEED));
    tell(memory.madvise(page(0), 0, MADV_DONTNEED));
    tell(memory.madvise(page(0), 0, 12345));
    tell(memory.madvise(page(0), 4096, 12345));
    tell(memory.madvise(page(0), 4096, MADV_DONTNEED));
    tell(memory.madvise(page(0), 40 * 4096, MADV_DONTNEED));
    tell(memory.madvise(page(50), 4096, MADV_DONTNEED));
    tell(memory.madvise(page(0), ~0ull, MADV_DONTNEED));
    tell(memory.madvise(page(0), 4096, MADV_REMOVE));
    out << "\n";
  });
}

TEST(GuestMap, TreatsSharedFilesAndTheirProtectionAsTheKernelDoes) {
  const int writable = temporary_file(16 * kPageSize);
  char name[64];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", writable);
  const int read_only = open(name, O_RDONLY);
  ASSERT_GE(read_only, 0);
  expect_same_as_kernel([&](Memory& memory, std::ostream& out) {
    const auto tell = [&](long result) { out << result_name(result) << " "; };
    tell(memory.mmap(page(0), 8 * kPageSize, PROT_READ, MAP_SHARED | MAP_FIXED, read_only, 0));
    tell(memory.mprotect(page(2), 4096, kRw));  // EACCES: the descriptor was not open for writing
    tell(memory.mmap(page(8), 8 * kPageSize, kRw, MAP_SHARED | MAP_FIXED, writable, 8 * kPageSize));
    tell(memory.mprotect(page(6), 4 * kPageSize, kRw));
    tell(memory.mprotect(page(10), 4096, kRx));
    tell(memory.mmap(page(12), 4096, kRw, MAP_PRIVATE | MAP_FIXED, writable, 0));
    tell(memory.munmap(page(14), 4096));
    tell(memory.mremap(page(8), 0, 2 * kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, page(20)));
    tell(memory.mremap(page(0), 4 * kPageSize, 6 * kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, page(24)));
    tell(memory.mremap(page(24), 6 * kPageSize, 8 * kPageSize, 0, 0));
    tell(memory.mmap(page(40), 3 * kPageSize, kRw, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    tell(memory.munmap(page(41), 4096));
    tell(memory.munmap(page(40), 4 * 4096));
    out << "\n";
  });
  close(writable);
  close(read_only);
}

TEST(GuestMap, AttachesSharedMemoryAsTheKernelDoes) {
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
TEST(GuestMap, ShowsTheFirstSharedMemoryOfANamespaceAsTheKernelDoes) {
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

TEST(GuestMap, ShrinksAcrossMappingsAndHolesAsTheKernelDoes) {
  expect_same_as_kernel([](Memory& memory, std::ostream& out) {
    const struct {
      std::uint64_t first, old_pages, new_pages;
      int flags;
    } calls[] = {{2, 4, 2, 0},  {2, 4, 3, 0},  {10, 8, 2, 0}, {10, 8, 6, 0}, {2, 4, 4, 0},  {2, 4, 4, 1},
                 {10, 6, 6, 0}, {2, 4, 2, 3},  {2, 4, 3, 3},  {10, 8, 2, 3}, {2, 4, 6, 3},  {2, 4, 6, 1},
                 {2, 2, 3, 1},  {10, 4, 5, 0}, {10, 4, 6, 3}, {11, 2, 3, 3}, {2, 40, 1, 0}, {8, 4, 2, 0}};
    for (const auto& call : calls) {
      memory.munmap(kArena, kArenaPages * kPageSize);
      memory.mmap(page(0), 4 * kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
      memory.mmap(page(4), 4 * kPageSize, PROT_READ, kPrivate | MAP_FIXED, -1, 0);
      memory.mmap(page(10), 4 * kPageSize, PROT_READ, kPrivate | MAP_FIXED, -1, 0);
      const long result =
          memory.mremap(page(call.first), call.old_pages * kPageSize, call.new_pages * kPageSize, call.flags, page(20));
      out << result_name(result) << "\n" << arena(memory.maps());
      if (!is_error(result)) memory.munmap(static_cast<std::uint64_t>(result), call.new_pages * kPageSize);
    }
  });
}

// One long random history, made natively and through the map; results and what is mapped must agree after every step.
class RandomHistory : public testing::TestWithParam<unsigned> {};

TEST_P(RandomHistory, GivesTheKernelsResultsAndMaps) {
  const int file = temporary_file(kArenaPages * kPageSize);
  ASSERT_GE(file, 0);
  const Story story = [&](Memory& memory, std::ostream& out) {
    std::mt19937 random(GetParam());
    const auto pick = [&](std::uint64_t count) { return static_cast<std::uint64_t>(random()) % count; };
    const int prots[] = {PROT_NONE, PROT_READ, kRw, kRx, kRwx, PROT_EXEC, kRw, PROT_READ};
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t first = pick(kArenaPages), count = pick(12) + 1;
      const std::uint64_t at = page(first), bytes = std::min(count, kArenaPages - first) * kPageSize;
      const int prot = prots[pick(8)];
      const std::uint64_t kind = pick(12);
      // Never the same length: without resizing, Linux 6.17 and later move what looks like one mapping but is several.
      const std::uint64_t to = page(pick(kArenaPages - 12)), resized = (pick(8) + 1) * kPageSize;
      const std::uint64_t more = resized == bytes ? resized + kPageSize : resized;
      long result = 0;
      out << std::dec << step << ": ";
      // What mremap does across mappings depends on the kernel's version: another test.
      if (kind >= 9 && !in_one_mapping(memory, {at, at + bytes})) continue;
      if (kind < 2) {
        out << "mmap fixed " << first << "+" << bytes / kPageSize;
        result = memory.mmap(at, bytes, prot, kPrivate | MAP_FIXED, -1, 0);
      } else if (kind < 4) {
        out << "mmap file " << first << "+" << bytes / kPageSize;
        const int flags = (step % 3 ? MAP_PRIVATE : MAP_SHARED) | (step % 2 ? MAP_FIXED : MAP_FIXED_NOREPLACE);
        result = memory.mmap(at, bytes, prot, flags, file, first * kPageSize);
      } else if (kind == 4) {
        out << "mmap noreplace " << first << "+" << bytes / kPageSize;
        result = memory.mmap(at, bytes, prot, kPrivate | MAP_FIXED_NOREPLACE, -1, 0);
      } else if (kind < 7) {
        out << "munmap " << first << "+" << bytes / kPageSize;
        result = memory.munmap(at, bytes);
      } else if (kind < 9) {
        out << "mprotect " << first << "+" << bytes / kPageSize << " " << prot;
        result = memory.mprotect(at, bytes, prot);
      } else if (kind == 9) {
        out << "mremap " << first << "+" << bytes / kPageSize << " to " << more / kPageSize;
        result = memory.mremap(at, bytes, more, 0, 0);
      } else if (kind == 10) {
        const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
        out << "mremap " << first << "+" << bytes / kPageSize << " to " << (to - kArena) / kPageSize << "+"
            << more / kPageSize;
        result = memory.mremap(at, bytes, more, flags, to);
      } else {
        const int flags = MREMAP_MAYMOVE | (step % 4 == 0 ? MREMAP_DONTUNMAP : 0);
        const std::uint64_t length = step % 4 == 0 ? bytes : more;
        out << "mremap anywhere " << first << "+" << bytes / kPageSize << " to " << length / kPageSize;
        result = memory.mremap(at, bytes, length, flags, 0);
        const auto address = static_cast<std::uint64_t>(result);
        if (!is_error(result) && !AddressRange{kArena, page(kArenaPages)}.contains(address)) {
          if (memory.munmap(address, length) != 0) out << " cannot be unmapped";
          result = 0;
        }
      }
      out << " -> " << std::hex << (is_error(result) ? result_name(result) : std::to_string(result)) << "\n"
          << arena(memory.maps());
    }
  };
  const std::string native = in_child([&](std::ostream& out) {
    Native memory;
    story(memory, out);
  });
  const std::string mapped = in_child([&](std::ostream& out) {
    Mapped memory;
    story(memory, out);
    // What is really mapped is the shadow with PROT_EXEC taken away.
    for (const RealMapping& real : read_real_maps()) {
      if (!real.range().overlaps({kArena, page(kArenaPages)})) continue;
      for (std::uint64_t at = real.start; at < real.end; at += kPageSize) {
        const std::uint32_t guest = memory.map.prot_at(at);
        const std::uint32_t expected = guest & PROT_EXEC ? (guest & ~unsigned{PROT_EXEC}) | PROT_READ : guest;
        if (!memory.map.is_mapped(at) || real.prot != expected) out << "wrong at " << std::hex << at << "\n";
      }
    }
    memory.map.for_each([&](const GuestMapping& each) {
      if (msync(reinterpret_cast<void*>(each.start), each.range().size(), MS_ASYNC) != 0) {
        out << "not mapped: " << std::hex << each.start << "\n";
      }
    });
  });
  if (native != mapped) {
    std::size_t same = 0;
    while (same < native.size() && same < mapped.size() && native[same] == mapped[same]) ++same;
    const std::size_t from = native.rfind(": ", same) == std::string::npos ? 0 : native.rfind(": ", same) - 3;
    ADD_FAILURE() << "kernel:\n" << native.substr(from, 1500) << "\nmap:\n" << mapped.substr(from, 1500);
  }
  close(file);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistory, testing::Range(1u, 31u));

// --- Placement -------------------------------------------------------------------------------------------------------

/// Runs in a child, so that nothing that is mapped stays.
void in_child_expect(const std::string& expected, const std::function<void(GuestMap&, std::ostream&)>& body) {
  EXPECT_EQ(in_child([&](std::ostream& out) {
              GuestMap map{Layout{}};
              body(map, out);
            }),
            expected);
}

TEST(GuestMap, PutsExecutableAndDenyWriteMappingsLowAndTheRestHigh) {
  in_child_expect("10000000 10001000 200000000000+", [](GuestMap& map, std::ostream& out) {
    const int file = open("/proc/self/exe", O_RDONLY);
    out << std::hex << map.mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_DENYWRITE, file, 0) << " "
        << map.mmap(0, 4096, kRwx, kPrivate, -1, 0) << " ";
    const long high = map.mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    out << (high == static_cast<long>(map.layout().high.start) ? "200000000000+" : "elsewhere");
  });
  in_child_expect("low low ENOMEM", [](GuestMap& map, std::ostream& out) {
    const auto where = [&](long result) {
      return is_error(result) ? result_name(result) : result < 0x80000000 ? std::string("low") : std::string("high");
    };
    out << where(map.mmap(0, 4096, kRw, kPrivate | MAP_32BIT, -1, 0)) << " "
        << where(map.mmap(0x250000000000, 1 << 30, kRw, kPrivate | MAP_32BIT | MAP_NORESERVE, -1, 0)) << " "
        << where(map.mmap(0, 1 << 30, kRw, kPrivate | MAP_32BIT | MAP_NORESERVE, -1, 0));
  });
}

TEST(GuestMap, PlacesTheSameWhateverTheKernelsRandomisation) {
  const auto history = [](std::ostream& out) {
    GuestMap map{Layout{}};
    std::mt19937 random(7);
    std::vector<std::pair<long, std::uint64_t>> live;
    for (int step = 0; step < 300; ++step) {
      if (random() % 3 == 0 && !live.empty()) {
        const std::size_t which = random() % live.size();
        map.munmap(static_cast<std::uint64_t>(live[which].first), live[which].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const std::uint64_t length = (random() % 64 + 1) * kPageSize * (random() % 8 == 0 ? 512 : 1);
      const int prot = random() % 4 == 0 ? kRx : kRw;
      live.emplace_back(map.mmap(0, length, prot, kPrivate | MAP_NORESERVE, -1, 0), length);
      out << std::hex << live.back().first << "\n";
    }
  };
  const std::string first = in_child(history);
  // A process of another size, with another heap and other mappings.
  const std::string second = in_child([&](std::ostream& out) {
    std::vector<std::string> ballast(1000, std::string(100000, 'x'));
    mmap(nullptr, 1 << 30, PROT_NONE, kPrivate | MAP_NORESERVE, -1, 0);
    history(out);
  });
  EXPECT_EQ(first, second);
}

TEST(GuestMap, HonoursAHintWhereItIsFreeAndTheToolCannotBe) {
  in_child_expect("310000000000 elsewhere elsewhere elsewhere 10000\n", [](GuestMap& map, std::ostream& out) {
    const auto at = [&](std::uint64_t hint) {
      const long result = map.mmap(hint, 2 * kPageSize, kRw, kPrivate, -1, 0);
      std::ostringstream text;
      text << std::hex << result;
      out << (static_cast<std::uint64_t>(result) == page_down(hint) || hint == 1 << 12 ? text.str() : "elsewhere");
    };
    at(kArena + 5);
    out << " ";
    at(kArena + kPageSize);
    out << " ";
    at(0x7000'0000'0000);
    out << " ";
    at(map.layout().engine.start);
    out << " ";
    at(1 << 12);
    out << "\n";
  });
}

TEST(GuestMap, StartsLargeAnonymousMemoryOnAHugePage) {
  in_child_expect("0 0", [](GuestMap& map, std::ostream& out) {
    map.mmap(0, kPageSize, kRw, kPrivate, -1, 0);
    out << map.mmap(0, 4 << 20, kRw, kPrivate, -1, 0) % (2 << 20) << " ";
    out << map.mmap(0, 8 << 20, kRw, kPrivate, -1, 0) % (2 << 20);
  });
}

TEST(GuestMap, UsesTheSpareZoneWhenTheHighZoneIsFull) {
  in_child_expect("120000000000", [](GuestMap& map, std::ostream& out) {
    const AddressRange high = map.layout().high;
    map.reserve({high.start, high.end - kPageSize});
    out << std::hex << map.mmap(0, 2 * kPageSize, kRw, kPrivate, -1, 0);
  });
}

// --- The tool's own memory -------------------------------------------------------------------------------------------

TEST(GuestMap, LeavesTheToolsMemoryAlone) {
  in_child_expect(
      "fixed ENOMEM noreplace EEXIST over ENOMEM unmap ok protect ENOMEM remap EFAULT onto ENOMEM advise ENOMEM alive",
      [](GuestMap& map, std::ostream& out) {
        char* tool = static_cast<char*>(mmap(nullptr, 8 * kPageSize, PROT_READ | PROT_WRITE, kPrivate, -1, 0));
        std::strcpy(tool, "alive");
        const auto at = reinterpret_cast<std::uint64_t>(tool);
        const AddressRange window = map.layout().engine;
        map.mmap(page(0), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
        out << "fixed " << result_name(map.mmap(window.start, kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0));
        out << " noreplace " << result_name(map.mmap(at, kPageSize, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0));
        out << " over " << result_name(map.mmap(at, kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0));
        out << " unmap " << result_name(map.munmap(at, 8 * kPageSize));
        out << " protect " << result_name(map.mprotect(at, kPageSize, PROT_NONE));
        out << " remap " << result_name(map.mremap(at, kPageSize, kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, page(9)));
        out << " onto " << result_name(map.mremap(page(0), kPageSize, kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, at));
        out << " advise " << result_name(map.madvise(at, 8 * kPageSize, MADV_DONTNEED));
        out << " " << tool;
      });
}

TEST(GuestMap, UnmapsEverythingOfTheProgramAndNothingOfTheTool) {
  in_child_expect("ok 0 still here", [](GuestMap& map, std::ostream& out) {
    for (int i = 0; i < 10; ++i) map.mmap(0, kPageSize, i % 2 ? kRw : kRx, kPrivate, -1, 0);
    out << result_name(map.munmap(0, kTaskSize)) << " " << map.size();
    out << " still here";
  });
}

TEST(GuestMap, KeepsOffWhatItFindsInItsZones) {
  in_child_expect("ok apart", [](GuestMap& map, std::ostream& out) {
    void* const first = reinterpret_cast<void*>(map.layout().high.start);
    mmap(first, 4 * kPageSize, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0);
    const long result = map.mmap(0, kPageSize, kRw, kPrivate, -1, 0);
    out << result_name(result) << " "
        << (static_cast<std::uint64_t>(result) >= map.layout().high.start + 4 * kPageSize ? "apart" : "over");
  });
}

// --- Code ------------------------------------------------------------------------------------------------------------

class Listener final : public CodeListener {
 public:
  explicit Listener(std::ostream& out) : out_(out) {}
  void code_changed(std::uint64_t start, std::uint64_t end) override {
    out_ << " " << std::dec << (start - kArena) / kPageSize << "-" << (end - kArena) / kPageSize;
  }

 private:
  std::ostream& out_;
};

TEST(GuestMap, TellsOfEveryChangeToExecutableMemoryAndOfNoOther) {
  in_child_expect(
      "mapped 2-22 munmap 2-4 fixed 4-5 protect 5-6 write 6-7 advise 8-9 move 9-10 40-41 executable 0-1 nothing:",
      [](GuestMap& map, std::ostream& out) {
        Listener listener(out);
        map.listen(&listener);
        map.mmap(page(0), 2 * kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
        out << "mapped";
        map.mmap(page(2), 20 * kPageSize, kRx, kPrivate | MAP_FIXED, -1, 0);
        out << " munmap";
        map.munmap(page(1), 3 * kPageSize);
        out << " fixed";
        map.mmap(page(3), 2 * kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
        out << " protect";
        map.mprotect(page(5), kPageSize, PROT_READ);
        out << " write";
        map.mprotect(page(6), kPageSize, kRwx);
        out << " advise";
        map.madvise(page(8), kPageSize, MADV_DONTNEED);
        out << " move";
        map.mremap(page(9), kPageSize, kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, page(40));
        out << " executable";
        map.mprotect(page(0), kPageSize, kRx);
        out << " nothing:";
        map.mprotect(page(10), kPageSize, kRx);
        map.mprotect(page(6), kPageSize, kRx);
        map.madvise(page(10), kPageSize, MADV_WILLNEED);
        map.munmap(page(50), 4 * kPageSize);
        map.listen(nullptr);
      });
}

std::string real_access(std::uint64_t address) {
  for (const RealMapping& real : read_real_maps()) {
    if (!real.range().contains(address)) continue;
    return std::string(real.prot & PROT_READ ? "r" : "-") + (real.prot & PROT_WRITE ? "w" : "-") +
           (real.prot & PROT_EXEC ? "x" : "-");
  }
  return "none";
}

TEST(GuestMap, NeverMapsAnythingReallyExecutable) {
  in_child_expect("r-- rw- r-- r-- rw-", [](GuestMap& map, std::ostream& out) {
    const int prots[] = {kRx, kRwx, PROT_EXEC};
    for (std::uint64_t i = 0; i < 3; ++i) {
      map.mmap(page(i), kPageSize, prots[i], kPrivate | MAP_FIXED, -1, 0);
      out << real_access(page(i)) << " ";
    }
    map.mprotect(page(0), kPageSize, PROT_EXEC);
    out << real_access(page(0)) << " ";
    map.mprotect(page(0), kPageSize, kRwx);
    out << real_access(page(0));
  });
}

TEST(GuestMap, WriteProtectsCodePagesWithoutTheProgramSeeingIt) {
  in_child_expect(
      "r-- rwxp | rw- | again r-- same r-- rx r-- 0 write rw- 0 | gone 0 | move ok rw- 0 | old contents",
      [](GuestMap& map, std::ostream& out) {
        map.mmap(page(0), 8 * kPageSize, kRwx, kPrivate | MAP_FIXED, -1, 0);
        std::strcpy(reinterpret_cast<char*>(page(4)), "old contents");
        map.protect_code_page(page(4));
        out << real_access(page(4)) << " " << arena(map.proc_maps()).substr(26, 4) << " | ";
        map.unprotect_code_page(page(4));
        out << real_access(page(4)) << " | ";
        map.protect_code_page(page(4));
        out << "again " << real_access(page(4));
        map.mprotect(page(0), 8 * kPageSize, kRwx);
        out << " same " << real_access(page(4));
        map.mprotect(page(0), 8 * kPageSize, kRx);
        out << " rx " << real_access(page(4)) << " " << map.protected_code_pages();
        map.mprotect(page(0), 8 * kPageSize, kRwx);
        out << " write " << real_access(page(4)) << " " << map.protected_code_pages() << " | ";
        map.protect_code_page(page(2));
        map.munmap(page(2), kPageSize);
        out << "gone " << map.protected_code_pages() << " | ";
        map.protect_code_page(page(4));
        map.protect_code_page(page(5));
        out << "move "
            << result_name(map.mremap(page(3), 4 * kPageSize, 6 * kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, page(30)))
            << " " << real_access(page(31)) << " " << map.protected_code_pages() << " | "
            << reinterpret_cast<const char*>(page(31));
      });
}

TEST(GuestMap, OpensTheCodePagesThatSomebodyElseWrites) {
  in_child_expect("r-- rw- rw- r-- | 2 | rw- 1 | 0", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(0), 8 * kPageSize, kRwx, kPrivate | MAP_FIXED, -1, 0);
    for (const int number : {1, 2, 3, 4}) map.protect_code_page(page(number));
    map.open_code_pages({page(2) + 4095, page(3) + 1});
    for (const int number : {1, 2, 3, 4}) out << real_access(page(number)) << " ";
    out << "| " << map.protected_code_pages() << " | ";
    map.open_code_pages({page(4) + 5, page(4) + 6});
    out << real_access(page(4)) << " " << map.protected_code_pages() << " | ";
    map.open_code_pages({page(0), page(8)});
    out << map.protected_code_pages();
  });
}

// --- Heap, stack, children -------------------------------------------------------------------------------------------

TEST(GuestMap, GrowsAndShrinksTheHeapAsBrkDoes) {
  in_child_expect("start same 3001 [heap] 4 pages kept 1000 1 page below same limit same taken same free 5000",
                  [](GuestMap& map, std::ostream& out) {
                    const std::uint64_t start = static_cast<std::uint64_t>(map.brk(0));
                    const auto brk = [&](std::uint64_t address) -> std::string {
                      const std::uint64_t before = map.brk_end();
                      const auto result = static_cast<std::uint64_t>(map.brk(address));
                      if (result == before) return "same";
                      std::ostringstream text;
                      text << std::hex << result - start;
                      return text.str();
                    };
                    const auto pages = [&] { return map.find(start)->range().size() / kPageSize; };
                    out << "start " << brk(0) << " " << brk(start + 0x3001) << " " << map.find(start)->name() << " "
                        << pages() << " pages";
                    std::strcpy(reinterpret_cast<char*>(start + 10), "kept");
                    const std::string shrunk = brk(start + 0x1000);
                    out << " " << reinterpret_cast<const char*>(start + 10) << " " << shrunk << " " << pages()
                        << " page below " << brk(start - 1);
                    const rlimit tight{0x2000, RLIM_INFINITY}, loose{RLIM_INFINITY, RLIM_INFINITY};
                    setrlimit(RLIMIT_DATA, &tight);
                    out << " limit " << brk(start + 0x4000);
                    setrlimit(RLIMIT_DATA, &loose);
                    map.mmap(start + 0x6000, kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
                    out << " taken " << brk(start + 0x6000) << " free " << brk(start + 0x5000);
                  });
}

TEST(GuestMap, LetsTheStackGrowWithItsLimit) {
  in_child_expect("8 4 64 64 rwx", [](GuestMap& map, std::ostream& out) {
    map.map_stack(8 << 20, true);
    const std::uint64_t top = map.layout().stack_top();
    const auto size = [&] { return (top - map.find(top - 1)->start) >> 20; };
    out << size() << " ";
    map.set_stack_limit(4 << 20);
    out << size() << " ";
    map.set_stack_limit(64 << 20);
    *reinterpret_cast<volatile char*>(top - (64 << 20)) = 1;
    out << size() << " ";
    map.set_stack_limit(64 << 20);
    out << size() << " " << (map.prot_at(top - (60 << 20)) == kRwx ? "rwx" : "other");
  });
}

TEST(GuestMap, MakesTheStackExecutableOnTheWholeWhenAskedWithGrowsdown) {
  in_child_expect("ok rwx", [](GuestMap& map, std::ostream& out) {
    map.map_stack(8 << 20, false);
    const std::uint64_t top = map.layout().stack_top();
    out << result_name(map.mprotect(top - kPageSize, kPageSize, kRwx | PROT_GROWSDOWN)) << " "
        << (map.prot_at(top - (8 << 20)) == kRwx ? "rwx" : "other");
  });
}

TEST(GuestMap, FollowsMappingsThatTheKernelGrowsDown) {
  in_child_expect("5 4 gone", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(5), kPageSize, kRw, kPrivate | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
    out << (map.find(page(5))->start - kArena) / kPageSize << " ";
    *reinterpret_cast<volatile char*>(page(4)) = 1;  // the kernel extends the mapping
    map.mprotect(page(4), kPageSize, PROT_READ);
    out << (map.find(page(4)) ? (map.find(page(4))->start - kArena) / kPageSize : 99) << " ";
    map.munmap(page(4), 2 * kPageSize);
    out << (real_access(page(4)) == "none" ? "gone" : "there");
  });
}

TEST(GuestMap, ForgetsInAChildWhatTheParentDoesNotPassOn) {
  in_child_expect("not mapped, mapped", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(0), 3 * kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    map.madvise(page(1), kPageSize, MADV_DONTFORK);
    out << in_child([&](std::ostream& inner) {
      map.in_forked_child();
      inner << (map.is_mapped(page(1)) || real_access(page(1)) != "none" ? "mapped" : "not mapped");
      inner << (map.is_mapped(page(2)) ? ", mapped" : ", not mapped");
    });
  });
}

TEST(GuestMap, ShowsMemoryOfTheToolWithoutEverChangingIt) {
  in_child_expect("[vdso] protect EACCES unmap ok alive", [](GuestMap& map, std::ostream& out) {
    char* tool = static_cast<char*>(mmap(nullptr, kPageSize, kRw, kPrivate, -1, 0));
    std::strcpy(tool, "alive");
    const auto at = reinterpret_cast<std::uint64_t>(tool);
    map.adopt({at, at + kPageSize}, kRx, MapKind::Vdso);
    out << map.find(at)->name() << " protect " << result_name(map.mprotect(at, kPageSize, kRw)) << " unmap "
        << result_name(map.munmap(at, kPageSize)) << " " << (map.is_mapped(at) ? "mapped" : tool);
  });
}

// --- /proc views and queries -----------------------------------------------------------------------------------------

TEST(GuestMap, WritesMapsAsTheKernelDoesAndSmapsWithItsNumbers) {
  const std::string text = in_child([](std::ostream& out) {
    GuestMap map{Layout{}};
    const int file = open("/proc/self/exe", O_RDONLY);
    map.mmap(page(0), kPageSize, kRx, MAP_PRIVATE | MAP_FIXED, file, 0x1000);
    map.brk(map.brk_start() + 100);
    map.map_stack(8 << 20, false);
    out << map.proc_maps() << map.proc_smaps();
  });
  EXPECT_THAT(text, HasSubstr("200000000000-200000001000 rw-p 00000000 00:00 0                          [heap]\n"));
  EXPECT_THAT(text, HasSubstr("29fffe800000-29ffff000000 rw-p 00000000 00:00 0                          [stack]\n"));
  EXPECT_THAT(text, HasSubstr("r-xp 00001000 "));
  EXPECT_THAT(text, HasSubstr("Rss: "));
  EXPECT_THAT(text, Not(HasSubstr("[vdso]")));
}

TEST(GuestMap, NamesAFileAsItIsCalledNow) {
  const std::string text = in_child([](std::ostream& out) {
    char name[] = "/tmp/zs_map_XXXXXX";
    const int file = mkstemp(name);
    GuestMap map{Layout{}};
    if (ftruncate(file, 4096) == 0) map.mmap(page(0), kPageSize, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
    close(file);
    unlink(name);
    out << arena(map.proc_maps());
  });
  EXPECT_THAT(text, HasSubstr(" (deleted)\n"));
}

TEST(GuestMap, AnswersForEveryAddress) {
  in_child_expect("0 5 1 64 128 end", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(1), 63 * kPageSize, kRx, kPrivate | MAP_FIXED, -1, 0);
    map.mmap(page(128), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    out << map.prot_at(page(0)) << " " << map.prot_at(page(64) - 1);
    for (const std::uint64_t address : {page(0), page(1), page(64)}) {
      out << " " << (map.next_boundary(address) - kArena) / kPageSize;
    }
    out << (map.next_boundary(page(200)) == kTaskSize ? " end" : " more");
  });
}

// --- Size ------------------------------------------------------------------------------------------------------------

TEST(GuestMap, StaysFastWithTensOfThousandsOfMappings) {
  in_child_expect("20000 mappings, 0 left", [](GuestMap& map, std::ostream& out) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 40000; ++i) {
      // Alternating protections never merge; every second one is given back, so that there are many gaps.
      all.push_back(static_cast<std::uint64_t>(map.mmap(0, kPageSize, i % 2 ? kRw : PROT_READ, kPrivate, -1, 0)));
    }
    for (std::size_t i = 0; i < all.size(); i += 2) map.munmap(all[i], kPageSize);
    out << map.size() << " mappings, ";
    for (std::size_t i = 1; i < all.size(); i += 2) map.munmap(all[i], kPageSize);
    out << map.size() << " left";
  });
}

TEST(GuestMap, MapsAGibibyteFile) {
  in_child_expect("ok 1024 x", [](GuestMap& map, std::ostream& out) {
    const int file = temporary_file(std::uint64_t{1} << 30);
    if (pwrite(file, "x", 1, (1 << 30) - 1) != 1) return;
    const long at = map.mmap(0, 1 << 30, PROT_READ, MAP_SHARED, file, 0);
    out << (is_error(at) ? "refused" : "ok") << " " << (map.find(static_cast<std::uint64_t>(at))->range().size() >> 20)
        << " " << reinterpret_cast<const char*>(at)[(1 << 30) - 1];
  });
}

}  // namespace
}  // namespace zs::engine
