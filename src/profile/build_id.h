// The build-id of an ELF file on disk: what ties a recording to the very files that ran.
#pragma once

#include <optional>
#include <string>

#include "profile/records.h"

namespace zs::profile {

/// returns nothing if the file cannot be read, is no ELF file, or carries no build-id
std::optional<BuildId> read_build_id(const std::string& path);

}  // namespace zs::profile
