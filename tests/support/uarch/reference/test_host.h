// What the host of a test lacks for specialised code, found out apart from the code that asks the same: a test that
// finds nothing missing insists on the code.
#pragma once

#include <sys/mman.h>

#include <string>

namespace zs::uarch {

/// Empty if there must be code; otherwise why not.
inline std::string missing_for_code() {
  if (__builtin_cpu_supports("avx2") == 0) return "the host has no AVX2";
  constexpr std::size_t kPage = 4096;
  void* const memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "the host maps no memory that is writable and executable";
  munmap(memory, kPage);
  return {};
}

}  // namespace zs::uarch
