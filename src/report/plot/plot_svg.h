// A figure as one SVG file: strips below one another, phases and regions as bands, light and dark by the reader's
// choice, values as titles under the pointer. It needs nothing but itself, and says its numbers in words too.
#pragma once

#include <string>

#include "report/plot/plot_figure.h"

namespace zs::report {

std::string plot_svg(const Figure& figure);

}  // namespace zs::report
