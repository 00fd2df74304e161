// A figure as text: a strip of bars for each metric, phases and regions as bands above them, in any width; and the
// table of phases. Colour repeats what the bands say.
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

std::string plot_text(const Figure& figure, const PlotTextStyle& style);

/// A column for each phase, with its place and its rates, beside one for the whole thread; as many blocks as the width
/// asks.
std::string phases_text(const Figure& figure, std::size_t width);

/// The numbers of a figure's curve, or of that curve folded: a line for each point, with its phase and every rate.
std::string rates_csv(const Figure& figure, const profile::Curve& curve);

}  // namespace zs::report
