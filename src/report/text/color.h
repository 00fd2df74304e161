// Colour only ever repeats what the text says.
#pragma once

#include <string>
#include <string_view>

namespace zs::report {

/// Hot percentages stand out, from the limits that perf uses: 5 and 0.5.
std::string percent_colored(std::string_view text, double percent, bool color);

}  // namespace zs::report
