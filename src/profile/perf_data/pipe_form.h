// A perf.data file as perf writes one into a pipe: attributes and features are records before the others, and nothing
// is looked up at another place. Features that do not fit a record are left out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace zs::profile {

/// path  a whole file, as PerfDataWriter closes it
/// out   gets the pieces in their order; returns false if there is nowhere to write
/// returns  an Error if the file cannot be read, or `out` had enough
Result<void> write_pipe_form(const std::string& path, const std::function<bool(std::string_view)>& out);

}  // namespace zs::profile
