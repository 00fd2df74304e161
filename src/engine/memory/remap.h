// mremap, in the order of checks that the kernel makes. source: Linux 6.1 to 6.18, mm/mremap.c
//
// Several mappings are moved at once where the kernel does so, from 6.17 on: the list may have one where the kernel has
// several (protected code), so that its answer would say too little. Not modelled: a mapping that the kernel has split
// by mlock, memory policy or advice gets the kernel's own answer; kinds of which 6.17 moves one only.
#pragma once

#include <cstdint>

#include "engine/memory/address_space.h"
#include "engine/memory/map_limits.h"

namespace zs::engine {

/// The arguments of mremap(2), as the program gives them.
struct RemapCall {
  std::uint64_t old_address, old_length, new_length;
  int flags;
  std::uint64_t new_address;
};

/// Whether this kernel moves several mappings at once: tried once.
bool kernel_moves_several();

/// moves_several  kernel_moves_several()
/// returns the new address or -errno
long remap(AddressSpace& space, const MapLimits& limits, RemapCall call, bool moves_several);

}  // namespace zs::engine
