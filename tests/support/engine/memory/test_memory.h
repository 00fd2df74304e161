// What tests of the program's memory share: children in which the address space may be rearranged, and the same system
// calls made by the kernel and by a GuestMap, which must give the same results and the same /proc/self/maps.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/memory/guest_map.h"
#include "engine/memory/proc_maps.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

/// What `body` writes, run in a process of its own; "killed by signal N" if it dies.
inline std::string in_child(const std::function<void(std::ostream&)>& body) {
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
  std::string maps() override { return proc_maps(map.mappings()); }

  GuestMap map{Layout{}};
};

/// A stretch of addresses that neither the kernel nor the map uses by itself.
inline constexpr std::uint64_t kArena = 0x3100'0000'0000;
inline constexpr std::uint64_t kArenaPages = 64;
constexpr std::uint64_t page(std::uint64_t number) { return kArena + number * kPageSize; }

inline bool joins(const RealMapping& left, const RealMapping& right) {
  return left.end == right.start && left.prot == right.prot && left.shared == right.shared && left.path == right.path &&
         left.inode == right.inode && left.device_major == right.device_major &&
         left.device_minor == right.device_minor &&
         (left.inode == 0 || left.offset + left.range().size() == right.offset);
}

/// The arena's lines of a maps file, with neighbours joined that the kernel had no need to keep apart.
inline std::string arena(const std::string& maps) {
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

inline bool in_one_mapping(Memory& memory, AddressRange range) {
  for (const RealMapping& each : parse_maps(arena(memory.maps()))) {
    if (each.range().overlaps(range)) return each.range().contains(range);
  }
  return true;  // unmapped
}

inline std::string result_name(long result) {
  return is_error(result) ? strerrorname_np(static_cast<int>(-result)) : "ok";
}

/// Results of fixed addresses are compared as they are, of chosen ones only as success.
using Story = std::function<void(Memory&, std::ostream&)>;

inline void expect_same_as_kernel(const Story& story) {
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

inline constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
inline constexpr int kRw = PROT_READ | PROT_WRITE;
inline constexpr int kRx = PROT_READ | PROT_EXEC;
inline constexpr int kRwx = kRw | PROT_EXEC;

inline int temporary_file(std::uint64_t bytes) {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  return memfd_create("file", 0);
}

/// Runs in a child, so that nothing that is mapped stays.
inline void in_child_expect(const std::string& expected, const std::function<void(GuestMap&, std::ostream&)>& body) {
  EXPECT_EQ(in_child([&](std::ostream& out) {
              GuestMap map{Layout{}};
              body(map, out);
            }),
            expected);
}

inline std::string real_access(std::uint64_t address) {
  for (const RealMapping& real : read_real_maps()) {
    if (!real.range().contains(address)) continue;
    return std::string(real.prot & PROT_READ ? "r" : "-") + (real.prot & PROT_WRITE ? "w" : "-") +
           (real.prot & PROT_EXEC ? "x" : "-");
  }
  return "none";
}

}  // namespace zs::engine
