#include "base/start_up.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace zs {
namespace {

/// What the kernel says of the mapping of an address, as /proc/self/smaps has it in VmFlags.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uint64_t start = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> start >> dash >> end && dash == '-')
      inside = start <= reinterpret_cast<std::uint64_t>(address) && reinterpret_cast<std::uint64_t>(address) < end;
    if (inside && line.starts_with("VmFlags:")) return line;
  }
  return "";
}

int status_with_large_pages() {
  use_large_heap_pages();
  void* volatile few = std::malloc(100'000);
  void* volatile many = std::malloc(10'000'000);
  const bool large = flags_of(few).find(" hg") != std::string::npos && flags_of(many).find(" hg") != std::string::npos;
  std::free(few);
  std::free(many);
  return large ? 7 : 1;
}

// What malloc was asked before has left holes that it fills first, so in a process of its own.
TEST(StartUp, TheHeapLiesInLargePages) {
  if (std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").fail()) GTEST_SKIP() << "no large pages here";
  EXPECT_EXIT(std::_Exit(status_with_large_pages()), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace zs
