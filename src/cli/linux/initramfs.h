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
