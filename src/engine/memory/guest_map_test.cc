// The list against the kernel: the same calls made natively in one process and through GuestMap in another must give
// the same results and leave the same /proc/self/maps.
#include "engine/memory/guest_map.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ios>
#include <ostream>
#include <random>
#include <string>

#include "engine/memory/real_maps.h"
#include "engine/memory/test_memory.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

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
        const std::uint32_t guest = memory.map.mappings().prot_at(at);
        const std::uint32_t expected = guest & PROT_EXEC ? (guest & ~unsigned{PROT_EXEC}) | PROT_READ : guest;
        if (!memory.map.mappings().is_mapped(at) || real.prot != expected) out << "wrong at " << std::hex << at << "\n";
      }
    }
    memory.map.mappings().for_each([&](const GuestMapping& each) {
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

TEST(GuestMap, ForgetsInAChildWhatTheParentDoesNotPassOn) {
  in_child_expect("not mapped, mapped", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(0), 3 * kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
    map.madvise(page(1), kPageSize, MADV_DONTFORK);
    out << in_child([&](std::ostream& inner) {
      map.in_forked_child();
      inner << (map.mappings().is_mapped(page(1)) || real_access(page(1)) != "none" ? "mapped" : "not mapped");
      inner << (map.mappings().is_mapped(page(2)) ? ", mapped" : ", not mapped");
    });
  });
}

}  // namespace
}  // namespace zs::engine
