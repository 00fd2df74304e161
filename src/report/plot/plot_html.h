// A figure as one HTML page that needs no network: strips drawn by uPlot with values under the pointer or the arrow
// keys, zoom, phases and regions as bands, the same numbers as tables, and its data to take along as CSV and SVG.
// The page's script and style are made from src/report/plot_page by tools/plot_page, and committed.
#pragma once

#include <string>

#include "report/plot/plot_figure.h"

namespace zs::report {

std::string plot_html(const Figure& figure);

}  // namespace zs::report
