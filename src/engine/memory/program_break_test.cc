#include "engine/memory/program_break.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <ios>
#include <ostream>
#include <sstream>
#include <string>

#include "engine/memory/guest_map.h"
#include "engine/memory/test_memory.h"

namespace zs::engine {
namespace {

TEST(ProgramBreak, GrowsAndShrinksTheHeapAsBrkDoes) {
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
                    const auto pages = [&] { return map.mappings().find(start)->range().size() / kPageSize; };
                    out << "start " << brk(0) << " " << brk(start + 0x3001) << " " << map.mappings().find(start)->name()
                        << " " << pages() << " pages";
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

}  // namespace
}  // namespace zs::engine
