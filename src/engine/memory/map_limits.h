// What the program's limits on memory (memory/memory_limits.h) allow it to map.
// source: Linux, mm/mmap.c: may_expand_vm(), is_data_mapping()
#pragma once

#include <cstdint>

#include "engine/memory/mappings.h"
#include "engine/memory/memory_limits.h"

namespace zs::engine {

/// What the kernel has mapped of a stack when a program begins, with its arguments. Ours is there whole.
inline constexpr std::uint64_t kFirstStackBytes = 132 << 10;

class MapLimits {
 public:
  explicit MapLimits(const Mappings& mappings) : mappings_(mappings) {}

  /// Those of the process that makes the next call; null: none but the kernel's.
  void use(const MemoryLimits* limits) { limits_ = limits; }

  /// RLIMIT_DATA.
  std::uint64_t data() const;
  /// Whether `bytes` more may be mapped, of the kind of `like`.
  bool may_expand(const GuestMapping& like, std::uint64_t bytes) const;
  /// Whether `piece` may have the protection `prot`: what becomes writable counts as data.
  bool may_become(const GuestMapping& piece, std::uint32_t prot) const;

 private:
  const Mappings& mappings_;
  const MemoryLimits* limits_ = nullptr;
};

}  // namespace zs::engine
