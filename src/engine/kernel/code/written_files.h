// Files that the program may write: what is mapped privately from one of them shows what is written, until the program
// writes to the mapping itself. Code of such a file may therefore change unseen, by a descriptor or through a shared
// mapping, as code in shared memory may. Not known: files that the program had open for writing from its start, and
// those that other programs write.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <set>
#include <tuple>

#include "engine/memory/mappings.h"

namespace zs::engine {

class WrittenFiles {
 public:
  explicit WrittenFiles(const Mappings& mappings) : mappings_(mappings) {}

  /// The program has opened it for writing.
  void opened(const struct stat& file) { files_.insert(key_of(file)); }
  /// Whether the program can write it, now or through what it has mapped.
  bool may_be_written(const MappedFile& file);

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // major, minor, inode

  static Key key_of(const struct stat& file);
  bool is_mapped_writable(const Key& key) const;

  const Mappings& mappings_;
  std::set<Key> files_;
};

}  // namespace zs::engine
