// The program's memory where it may not be there although it is mapped: behind the end of a file that has become
// shorter, or because whoever answers for it (userfaultfd) has yet to put it there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zs::engine {

extern "C" {
/// Copies `size` bytes. returns how many lie before the first one that cannot be read
std::size_t zs_copy_code(void* to, std::uint64_t from, std::size_t size);
/// Copies 16 bytes; they are of one page. returns whether it could
bool zs_copy_code16(void* to, std::uint64_t from);
/// Reads a byte, or writes it back. Comes back when it is there, when it cannot be, or when a signal has come.
void zs_touch(std::uint64_t address, bool write);
extern const char zs_touch_begin, zs_touch_end, zs_touch_left;
extern const char zs_copy_code_fault, zs_copy_code_end, zs_copy_code16_fault, zs_copy_code16_end;
}

/// Where a thread goes on that has faulted at `pc` in one of these; 0: it was in none.
inline std::uint64_t behind_copy_of_code(std::uint64_t pc) {
  const auto address = [](const char& label) { return reinterpret_cast<std::uint64_t>(&label); };
  if (pc == address(zs_copy_code_fault)) return address(zs_copy_code_end);
  if (pc == address(zs_copy_code16_fault)) return address(zs_copy_code16_end);
  if (pc >= address(zs_touch_begin) && pc <= address(zs_touch_end)) return address(zs_touch_left);
  return 0;
}

}  // namespace zs::engine
