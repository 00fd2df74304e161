// The vmlinux inside a bzImage, unpacked here: the guest would do that a hundred times more slowly.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"

namespace zs::cli {

/// gzip, xz, zstd and the LZ4 of kernels.
/// returns  empty if it is packed otherwise, damaged, or no bzImage: the guest's own code says then what it thinks
std::vector<std::byte> unpacked_kernel(Bytes image);

}  // namespace zs::cli
