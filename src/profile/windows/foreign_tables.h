// Tables that others write, as windows to plot: `perf stat -I MS -x SEP`, our own and HPCTool's seven columns
// (hpctool-csv), and any CSV with a header and numbers. What they do not say (a class, a thread) is not made up: it is
// "not told", or left empty.
//
// The places of windows are instructions wherever they are counted; else time; else the table's rows
// (WindowTable::places).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/windows/window_table.h"

namespace zs::profile {

/// A table of any of these kinds, or one of zeroskid's own. name: of the file, for messages
Result<WindowTable> parse_table(std::string_view text, const std::string& name);
/// The same of a file, packed or not; "-" is standard input.
Result<WindowTable> read_table(const std::string& path);

}  // namespace zs::profile
