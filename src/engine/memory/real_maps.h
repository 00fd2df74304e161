// The kernel's own view of our address space, read from /proc/self/maps and smaps: the program's mappings and the
// tool's together. Used where the kernel knows more than the shadow (current file names, stacks that grew) and by
// tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/memory/layout.h"

namespace zs::engine {

struct RealMapping {
  std::uint64_t start = 0, end = 0;
  std::uint32_t prot = 0;
  bool shared = false;
  std::uint64_t offset = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  std::string path;  // as printed: escaped, "(deleted)" included
  std::string tail;  // smaps: the lines after the header

  AddressRange range() const { return {start, end}; }
};

/// Ascending. Empty if /proc is not mounted.
std::vector<RealMapping> read_real_maps();
std::vector<RealMapping> read_real_smaps();
/// Parses either format; lines that are no header belong to the mapping before.
std::vector<RealMapping> parse_maps(const std::string& text);
/// One line in the kernel's format, with its newline.
std::string maps_line(const RealMapping& mapping);

/// A whole file through raw system calls; "" if it cannot be read.
std::string read_whole_file(const char* path);
/// Of what is open there; "" where nothing is. AT_FDCWD: the current folder.
std::string path_of_descriptor(int fd);

}  // namespace zs::engine
