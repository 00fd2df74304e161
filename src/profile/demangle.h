// C++ names as perf shows them: demangled, without parameters, return type and clone suffix.
#pragma once

#include <string>
#include <string_view>

namespace zs::profile {

/// "_ZN6Ledger4postERK5Order" -> "Ledger::post". A name that is not mangled comes back as it is.
std::string demangle(const std::string& linkage_name);

/// "Ledger& ns::find<int>(int) const [clone .cold]" -> "ns::find<int>". What names no function comes back as it is.
std::string_view without_parameters(std::string_view demangled);

}  // namespace zs::profile
