// /tmp/perf-PID.map: how just-in-time compilers name the code they made. Lines of "START SIZE NAME", both in hex.
// A later line wins over an earlier one for the same addresses: that code was replaced.
// A recording of ours has the text with it: ids of processes come again, and under --virtual-time always.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "profile/symbols/symbol_table.h"

namespace zs::profile {

std::string jit_map_path(std::int32_t pid);

/// Lines that do not parse are passed over.
SymbolTable parse_jit_map(std::string_view text);

/// When a file is of the process that is meant, in nanoseconds since 1970.
struct JitMapTimes {
  std::int64_t written_from = 0;
  std::int64_t made_until = std::numeric_limits<std::int64_t>::max();
};

/// returns its text; nothing if there is no such file, or it is another's: anybody may create files in /tmp, so only
///         the reader's own and root's are believed. Then `problem` says so.
std::optional<std::string> read_jit_map(const std::string& path, const JitMapTimes& times, std::string& problem);

}  // namespace zs::profile
