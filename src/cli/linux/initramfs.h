// The file system that a kernel starts with, as a cpio archive: files lie where they lie here, with the symbolic links
// on their way, and with the libraries and interpreters that they need. All times are 0, so that equal files make equal
// archives.
// source: Linux, Documentation/driver-api/early-userspace/buffer-format.rst ("newc").
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace zs::cli {

/// What a dynamically linked program needs beside itself, read from its file: nothing is run, as ldd would.
/// source: System V ABI, "Dynamic Linking"; glibc, elf/dl-cache.h, "struct cache_file_new"; ld.so(8) for the order.
struct ElfNeeds {
  std::string interpreter;             // PT_INTERP; "" if none
  std::vector<std::string> libraries;  // DT_NEEDED
  std::vector<std::string> folders;    // DT_RPATH and DT_RUNPATH, with $ORIGIN as it stands
};

/// Empty if `file` is no 64-bit ELF file, or cut short.
ElfNeeds elf_needs(Bytes file);

/// Where the dynamic linker finds that library.
/// cache    the bytes of /etc/ld.so.cache
/// folders  what it searches first, $ORIGIN replaced
/// returns  "" if it finds none
std::string find_library(const std::string& name, const std::vector<std::string>& folders, Bytes cache);

class Initramfs {
 public:
  Initramfs();
  /// The file at an absolute path, and what it needs to be run. Folders are made, without what is in them.
  Result<void> add(const std::string& path);
  /// A file that is not here. path  absolute
  void add_file(const std::string& path, Bytes content, std::uint32_t mode);
  /// The archive, ended.
  std::vector<std::byte> finish();

 private:
  void put(std::string_view path, std::uint32_t mode, Bytes content);
  /// Puts what lies on the way, links followed. returns the path without links, or an error
  Result<std::string> put_way(const std::string& path);
  Result<void> add_needs(const std::string& path, Bytes file);

  std::vector<std::byte> archive_, cache_;
  std::set<std::string, std::less<>> there_;
  std::uint32_t inode_ = 0;
};

}  // namespace zs::cli
