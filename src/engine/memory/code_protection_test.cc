#include "engine/memory/code_protection.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <ios>
#include <ostream>

#include "engine/memory/guest_map.h"
#include "engine/memory/test_memory.h"

namespace zs::engine {
namespace {

class Listener final : public CodeListener {
 public:
  explicit Listener(std::ostream& out) : out_(out) {}
  void code_changed(std::uint64_t start, std::uint64_t end) override {
    out_ << " " << std::dec << (start - kArena) / kPageSize << "-" << (end - kArena) / kPageSize;
  }

 private:
  std::ostream& out_;
};

TEST(CodeProtection, TellsOfEveryChangeToExecutableMemoryAndOfNoOther) {
  in_child_expect(
      "mapped 2-22 munmap 2-4 fixed 4-5 protect 5-6 write 6-7 advise 8-9 move 9-10 40-41 executable 0-1 nothing:",
      [](GuestMap& map, std::ostream& out) {
        Listener listener(out);
        map.code().listen(&listener);
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
        map.code().listen(nullptr);
      });
}

TEST(CodeProtection, WriteProtectsCodePagesWithoutTheProgramSeeingIt) {
  in_child_expect(
      "r-- rwxp | rw- | again r-- same r-- rx r-- 0 write rw- 0 | gone 0 | move ok rw- 0 | old contents",
      [](GuestMap& map, std::ostream& out) {
        map.mmap(page(0), 8 * kPageSize, kRwx, kPrivate | MAP_FIXED, -1, 0);
        std::strcpy(reinterpret_cast<char*>(page(4)), "old contents");
        map.code().protect(page(4));
        out << real_access(page(4)) << " " << arena(proc_maps(map.mappings())).substr(26, 4) << " | ";
        map.code().unprotect(page(4));
        out << real_access(page(4)) << " | ";
        map.code().protect(page(4));
        out << "again " << real_access(page(4));
        map.mprotect(page(0), 8 * kPageSize, kRwx);
        out << " same " << real_access(page(4));
        map.mprotect(page(0), 8 * kPageSize, kRx);
        out << " rx " << real_access(page(4)) << " " << map.code().protected_pages();
        map.mprotect(page(0), 8 * kPageSize, kRwx);
        out << " write " << real_access(page(4)) << " " << map.code().protected_pages() << " | ";
        map.code().protect(page(2));
        map.munmap(page(2), kPageSize);
        out << "gone " << map.code().protected_pages() << " | ";
        map.code().protect(page(4));
        map.code().protect(page(5));
        out << "move "
            << result_name(map.mremap(page(3), 4 * kPageSize, 6 * kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED, page(30)))
            << " " << real_access(page(31)) << " " << map.code().protected_pages() << " | "
            << reinterpret_cast<const char*>(page(31));
      });
}

TEST(CodeProtection, OpensTheCodePagesThatSomebodyElseWrites) {
  in_child_expect("r-- rw- rw- r-- | 2 | rw- 1 | 0", [](GuestMap& map, std::ostream& out) {
    map.mmap(page(0), 8 * kPageSize, kRwx, kPrivate | MAP_FIXED, -1, 0);
    for (const int number : {1, 2, 3, 4}) map.code().protect(page(number));
    map.code().open({page(2) + 4095, page(3) + 1});
    for (const int number : {1, 2, 3, 4}) out << real_access(page(number)) << " ";
    out << "| " << map.code().protected_pages() << " | ";
    map.code().open({page(4) + 5, page(4) + 6});
    out << real_access(page(4)) << " " << map.code().protected_pages() << " | ";
    map.code().open({page(0), page(8)});
    out << map.code().protected_pages();
  });
}

}  // namespace
}  // namespace zs::engine
