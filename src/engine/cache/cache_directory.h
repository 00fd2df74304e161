// Where snapshots lie: one folder, ours alone, with a file for each program and way of counting. A file is replaced as
// a whole and never written in place, so that who has mapped it keeps what he has. All files together stay below a
// bound: those that were not used for the longest time go.
#pragma once

#include <cstdint>
#include <string>

#include "engine/loader/program.h"
#include "engine/translate/snapshot.h"

namespace zs::engine {

class CacheDirectory {
 public:
  /// Nowhere: nothing is found, and nothing kept.
  CacheDirectory() = default;
  /// The folder at `path`, if it is there, belongs to us, and nobody else may look into it.
  /// most_bytes        of all files together
  /// first_private_fd  its descriptor is at least this
  CacheDirectory(const std::string& path, std::uint64_t most_bytes, int first_private_fd);

  explicit operator bool() const { return static_cast<bool>(folder_); }
  /// The file of that name, if nobody else can have written it, is used from now on. returns a descriptor that may be
  /// read, or -1
  OwnedFd open(const std::string& name) const;
  /// The file behind `fd`, at a descriptor that the program does not have.
  OwnedFd keep_off(long fd) const;
  /// Which file is there now, and its bytes.
  struct Version {
    std::uint64_t inode = 0, bytes = 0;
  };
  Version version(const std::string& name) const;
  /// Puts a file in the place of the one of that name, if it can be written as a whole. What is in the way of the bound
  /// goes. returns whether it is there
  bool replace(const std::string& name, const SnapshotWriter& file) const;
  /// Keeps nothing more.
  void close() { folder_ = {}; }

 private:
  void make_room(std::uint64_t bytes, const std::string& but) const;

  OwnedFd folder_;
  std::uint64_t most_bytes_ = 0;
};

}  // namespace zs::engine
