// The program's code as bytes, where it may not be there although it is mapped: behind the end of a file that has become shorter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zs::engine {

extern "C" {
/// Copies `size` bytes. returns how many lie before the first one that cannot be read
std::size_t zs_copy_code(void* to, std::uint64_t from, std::size_t size);
extern const char zs_copy_code_fault, zs_copy_code_end;
}

/// Whether a fault at `pc` is that function's; then it goes on at zs_copy_code_end.
inline bool is_copy_of_code(std::uint64_t pc) { return pc == reinterpret_cast<std::uint64_t>(&zs_copy_code_fault); }

}  // namespace zs::engine
