// System V shared memory as the program attaches it. source: Linux, ipc/shm.c
#pragma once

#include <cstdint>

#include "engine/memory/address_space.h"
#include "engine/memory/map_limits.h"

namespace zs::engine {

/// As shmat(2). returns the address or -errno
long attach_shared_memory(AddressSpace& space, const MapLimits& limits, int id, std::uint64_t address, int flags);
/// As shmdt(2). returns 0 or -errno
long detach_shared_memory(AddressSpace& space, std::uint64_t address);

}  // namespace zs::engine
