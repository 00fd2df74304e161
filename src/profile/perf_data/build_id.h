// The build-id of an ELF file on disk: what ties a recording to the very files that ran.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "profile/perf_data/records.h"

namespace zs::profile {

/// returns nothing if the file cannot be read, is no ELF file, or carries no build-id
std::optional<BuildId> read_build_id(const std::string& path);

/// Where perf's cache keeps the file of this id: `kind` is "elf", or "debug" for separate debug information.
/// symfs    the cache is .debug there; "": in the home
/// returns  "" if there is no home
std::string cached_path(const BuildId& id, std::string_view kind, const std::string& symfs);

}  // namespace zs::profile
