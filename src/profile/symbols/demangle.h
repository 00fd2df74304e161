// Names as people wrote them. C++ as perf shows it: demangled, without parameters, return type and clone suffix. Rust
// (both manglings) without its hash, D in full. Go does not mangle; Swift stays as it is: no library of Debian's reads
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zs::profile {

/// Whether a symbol's name is shown as people wrote it, or as the linker has it (--no-demangle).
enum class Names : std::uint8_t { Demangled, AsLinked };

/// "_ZN6Ledger4postERK5Order" -> "Ledger::post". A name that is not mangled comes back as it is.
std::string demangle(const std::string& linkage_name);

/// "Ledger& ns::find<int>(int) const [clone .cold]" -> "ns::find<int>". What names no function comes back as it is.
std::string_view without_parameters(std::string_view demangled);

}  // namespace zs::profile
