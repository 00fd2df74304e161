// Reading and writing the program's memory on its behalf, where a bad pointer must give EFAULT and not a fault of ours.
// The kernel does the copy (process_vm_readv on ourselves), so races with other threads' munmap are safe too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/memory/layout.h"

namespace zs::engine {

class GuestMap;

/// From now on the tool's own memory, as `map` knows it, is as if nothing were mapped there. Once in a process, and
/// `map` lives as long.
void keep_guest_access_from_tool(const GuestMap& map);
/// But for this part of it, which the engine has put into a call's arguments. There is one at a time, since it is read
/// before the engine lock is given away.
void lend_to_call(AddressRange range);
/// Whether what follows copies nothing there.
bool is_out_of_reach(std::uint64_t address);

/// Bytes copied before the first unreadable byte: `length` if all went well.
std::size_t read_guest(std::uint64_t address, void* out, std::size_t length);
std::size_t write_guest(std::uint64_t address, const void* in, std::size_t length);

template <typename T>
std::optional<T> read_guest_value(std::uint64_t address) {
  T value;
  if (read_guest(address, &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

/// Reads a NUL-terminated string. Returns 0, -EFAULT, or -ENAMETOOLONG when there is no NUL in `limit` bytes.
long read_guest_string(std::uint64_t address, std::size_t limit, std::string& out);

/// Reads a NULL-terminated array of string pointers (argv, envp); a null `address` is an empty array, as in the kernel.
/// Returns 0, -EFAULT, or -E2BIG when a string has no NUL in 128 KiB or the whole exceeds `limit` bytes with pointers.
long read_guest_strings(std::uint64_t address, std::size_t limit, std::vector<std::string>& out);

}  // namespace zs::engine
