// /proc/self/maps and /proc/self/smaps as the program should see them, in the kernel's format.
#pragma once

#include <string>

#include "engine/memory/mappings.h"

namespace zs::engine {

std::string proc_maps(const Mappings& mappings);
/// With the kernel's numbers, for the program's mappings only.
std::string proc_smaps(const Mappings& mappings);

}  // namespace zs::engine
