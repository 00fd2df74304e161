// The heap that brk(2) grows and shrinks.
#pragma once

#include <cstdint>

#include "engine/memory/address_space.h"
#include "engine/memory/map_limits.h"

namespace zs::engine {

class ProgramBreak {
 public:
  ProgramBreak(AddressSpace& space, const MapLimits& limits) : space_(space), limits_(limits) {}

  /// Where the heap begins; it is empty then.
  void begin(std::uint64_t address) { start_ = end_ = address; }
  /// The program says that it is there; nothing is mapped.
  void be(AddressRange heap) { start_ = heap.start, end_ = heap.end; }
  std::uint64_t start() const { return start_; }
  std::uint64_t end() const { return end_; }
  /// As the system call brk: returns the break, which is as it was where it cannot be `address`.
  long set(std::uint64_t address);

 private:
  long grow(std::uint64_t from, std::uint64_t to);

  AddressSpace& space_;
  const MapLimits& limits_;
  std::uint64_t start_ = 0, end_ = 0;
};

}  // namespace zs::engine
