// --region of `zeroskid stat`: regions of a program whose source does not mark them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "session/settings/config.h"

namespace zs::cli {

/// spellings  each a SYMBOL, FILE:LINE or 0xADDR..0xADDR; "@/path" behind it looks in that file and not in the
///            program's
/// program    path of the program's file
Result<std::vector<session::RegionSpec>> find_regions(const std::vector<std::string>& spellings,
                                                      const std::string& program);

}  // namespace zs::cli
