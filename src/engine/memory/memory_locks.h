// mlockall and its undoing: of the program's mappings, which the kernel cannot tell from the engine's.
#pragma once

#include <optional>

#include "engine/memory/mappings.h"

namespace zs::engine {

class MemoryLocks {
 public:
  explicit MemoryLocks(const Mappings& mappings) : mappings_(mappings) {}

  /// As mlockall(2), munlockall(2). returns 0 or -errno
  long lock_all(int flags);
  long unlock_all();
  /// `range` is newly mapped: it is locked if the program asked for that (MCL_FUTURE).
  void lock_new(AddressRange range) const;

 private:
  const Mappings& mappings_;
  std::optional<int> locks_future_;  // flags of mlock2 for what will be mapped; none: it is not locked
};

}  // namespace zs::engine
