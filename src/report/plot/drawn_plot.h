// A figure drawn.
#pragma once

#include <cstddef>
#include <string>

#include "report/plot/plot_figure.h"

namespace zs::report {

struct PlotTextStyle {
  std::size_t width = 80;  // columns in all; kLeastPlotWidth at least
  std::size_t height = 4;  // lines of a strip
  bool unicode = true;     // block characters; otherwise ASCII only
  bool colour = false;
};
inline constexpr std::size_t kLeastPlotWidth = 40;

/// As text: a strip of bars for each metric, phases and regions as bands above them. Colour repeats what the bands say.
std::string plot_text(const Figure& figure, const PlotTextStyle& style);

/// A column for each phase, with its place and its rates, beside one for the whole thread; as many blocks as the width
/// asks.
std::string phases_text(const Figure& figure, std::size_t width);

/// The numbers of a figure's curve, or of that curve folded: a line for each point, with its phase and every rate.
std::string rates_csv(const Figure& figure, const profile::Curve& curve);

/// As one SVG file: strips below one another, phases and regions as bands, light and dark by the reader's choice,
/// values as titles under the pointer. It needs nothing but itself, and says its numbers in words too.
std::string plot_svg(const Figure& figure);

/// As one HTML page that needs no network: strips drawn by uPlot with values under the pointer or the arrow keys, zoom,
/// phases and regions as bands, the same numbers as tables, and its data to take along as CSV and SVG. The page's
/// script and style are made from src/report/plot_page by tools/plot_page, and committed.
std::string plot_html(const Figure& figure);

}  // namespace zs::report
