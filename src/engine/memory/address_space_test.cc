#include "engine/memory/address_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/memory/guest_map.h"
#include "engine/memory/test_memory.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

TEST(AddressSpace, PutsExecutableAndDenyWriteMappingsLowAndTheRestHigh) {
  in_child_expect("10020000 10021000 200000000000+", [](GuestMap& map, std::ostream& out) {
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

TEST(AddressSpace, PlacesTheSameWhateverTheKernelsRandomisation) {
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

TEST(AddressSpace, HonoursAHintWhereItIsFreeAndTheToolCannotBe) {
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

TEST(AddressSpace, StartsLargeAnonymousMemoryOnAHugePage) {
  in_child_expect("0 0", [](GuestMap& map, std::ostream& out) {
    map.mmap(0, kPageSize, kRw, kPrivate, -1, 0);
    out << map.mmap(0, 4 << 20, kRw, kPrivate, -1, 0) % (2 << 20) << " ";
    out << map.mmap(0, 8 << 20, kRw, kPrivate, -1, 0) % (2 << 20);
  });
}

TEST(AddressSpace, UsesTheSpareZoneWhenTheHighZoneIsFull) {
  in_child_expect("120000000000", [](GuestMap& map, std::ostream& out) {
    const AddressRange high = map.layout().high;
    map.reserve({high.start, high.end - kPageSize});
    out << std::hex << map.mmap(0, 2 * kPageSize, kRw, kPrivate, -1, 0);
  });
}

// --- The tool's own memory -------------------------------------------------------------------------------------------

TEST(AddressSpace, LeavesTheToolsMemoryAlone) {
  in_child_expect(
      "fixed ENOMEM noreplace EEXIST over ENOMEM unmap ok protect ENOMEM remap EFAULT onto ENOMEM advise ENOMEM alive",
      [](GuestMap& map, std::ostream& out) {
        char* tool = static_cast<char*>(mmap(nullptr, 8 * kPageSize, PROT_READ | PROT_WRITE, kPrivate, -1, 0));
        std::strcpy(tool, "alive");
        const auto at = reinterpret_cast<std::uint64_t>(tool);
        const AddressRange range = map.layout().engine;
        map.mmap(page(0), kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0);
        out << "fixed " << result_name(map.mmap(range.start, kPageSize, kRw, kPrivate | MAP_FIXED, -1, 0));
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

TEST(AddressSpace, UnmapsEverythingOfTheProgramAndNothingOfTheTool) {
  in_child_expect("ok 0 still here", [](GuestMap& map, std::ostream& out) {
    for (int i = 0; i < 10; ++i) map.mmap(0, kPageSize, i % 2 ? kRw : kRx, kPrivate, -1, 0);
    out << result_name(map.munmap(0, kTaskSize)) << " " << map.mappings().size();
    out << " still here";
  });
}

TEST(AddressSpace, KeepsOffWhatItFindsInItsZones) {
  in_child_expect("ok apart", [](GuestMap& map, std::ostream& out) {
    void* const first = reinterpret_cast<void*>(map.layout().high.start);
    mmap(first, 4 * kPageSize, kRw, kPrivate | MAP_FIXED_NOREPLACE, -1, 0);
    const long result = map.mmap(0, kPageSize, kRw, kPrivate, -1, 0);
    out << result_name(result) << " "
        << (static_cast<std::uint64_t>(result) >= map.layout().high.start + 4 * kPageSize ? "apart" : "over");
  });
}

TEST(AddressSpace, ShowsMemoryOfTheToolWithoutEverChangingIt) {
  in_child_expect("[vdso] protect EACCES unmap ok alive", [](GuestMap& map, std::ostream& out) {
    char* tool = static_cast<char*>(mmap(nullptr, kPageSize, kRw, kPrivate, -1, 0));
    std::strcpy(tool, "alive");
    const auto at = reinterpret_cast<std::uint64_t>(tool);
    map.adopt({at, at + kPageSize}, kRx, MapKind::Vdso);
    out << map.mappings().find(at)->name() << " protect " << result_name(map.mprotect(at, kPageSize, kRw)) << " unmap "
        << result_name(map.munmap(at, kPageSize)) << " " << (map.mappings().is_mapped(at) ? "mapped" : tool);
  });
}

// --- What the kernel does besides ------------------------------------------------------------------------------------

TEST(AddressSpace, NeverMapsAnythingReallyExecutable) {
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

TEST(AddressSpace, FollowsMappingsThatTheKernelGrowsDown) {
  in_child_expect("5 4 gone", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(5), kPageSize, kRw, kPrivate | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
    out << (map.mappings().find(page(5))->start - kArena) / kPageSize << " ";
    *reinterpret_cast<volatile char*>(page(4)) = 1;  // the kernel extends the mapping
    map.mprotect(page(4), kPageSize, PROT_READ);
    out << (map.mappings().find(page(4)) ? (map.mappings().find(page(4))->start - kArena) / kPageSize : 99) << " ";
    map.munmap(page(4), 2 * kPageSize);
    out << (real_access(page(4)) == "none" ? "gone" : "there");
  });
}

TEST(AddressSpace, StaysFastWithTensOfThousandsOfMappings) {
  in_child_expect("20000 mappings, 0 left", [](GuestMap& map, std::ostream& out) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 40000; ++i) {
      // Alternating protections never merge; every second one is given back, so that there are many gaps.
      all.push_back(static_cast<std::uint64_t>(map.mmap(0, kPageSize, i % 2 ? kRw : PROT_READ, kPrivate, -1, 0)));
    }
    for (std::size_t i = 0; i < all.size(); i += 2) map.munmap(all[i], kPageSize);
    out << map.mappings().size() << " mappings, ";
    for (std::size_t i = 1; i < all.size(); i += 2) map.munmap(all[i], kPageSize);
    out << map.mappings().size() << " left";
  });
}

TEST(AddressSpace, MapsAGibibyteFile) {
  in_child_expect("ok 1024 x", [](GuestMap& map, std::ostream& out) {
    const int file = temporary_file(std::uint64_t{1} << 30);
    if (pwrite(file, "x", 1, (1 << 30) - 1) != 1) return;
    const long at = map.mmap(0, 1 << 30, PROT_READ, MAP_SHARED, file, 0);
    out << (is_error(at) ? "refused" : "ok") << " "
        << (map.mappings().find(static_cast<std::uint64_t>(at))->range().size() >> 20) << " "
        << reinterpret_cast<const char*>(at)[(1 << 30) - 1];
  });
}

}  // namespace
}  // namespace zs::engine
