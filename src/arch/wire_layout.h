// What a struct must be to lie in memory exactly as the processor writes it.
#pragma once

#include <type_traits>

namespace zs::arch {

/// Standard layout, copied byte by byte, and without padding.
template <typename T>
concept WireLayout =
    std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

}  // namespace zs::arch
