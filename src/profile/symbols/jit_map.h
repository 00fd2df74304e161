// /tmp/perf-PID.map: how just-in-time compilers name the code they made. Lines of "START SIZE NAME", both in hex.
// A later line wins over an earlier one for the same addresses: that code was replaced.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/symbols/symbol_table.h"

namespace zs::profile {

std::string jit_map_path(std::int32_t pid);

/// Lines that do not parse are passed over.
SymbolTable parse_jit_map(std::string_view text);

/// returns false if there is no such file, or it belongs to someone whom neither the reader nor root trusts
bool read_jit_map(const std::string& path, SymbolTable& into);

}  // namespace zs::profile
