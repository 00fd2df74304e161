#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "report/plot/drawn_plot.h"

namespace zs::report {
namespace {

using profile::Curve;
using profile::Metric;
using profile::ValueClass;

constexpr std::size_t kGutter = 11;         // "   12,340 |": the scale of a strip
constexpr std::size_t kMostRegionRows = 4;  // chosen: regions nested deeper are counted, not drawn

/// How a plot is drawn in one alphabet. A cell of a bar is filled in levels.size() - 1 steps.
struct Glyphs {
  std::array<std::string_view, 9> levels;
  std::size_t steps;
  std::string_view full_estimated;  // hatched: estimates are to be told apart without colour
  std::string_view axis, corner, base, tick;
  std::string_view band_begin, band_line, band_end, band_narrow;
};
constexpr Glyphs kUnicode{.levels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                          .steps = 8,
                          .full_estimated = "▒",
                          .axis = "│",
                          .corner = "└",
                          .base = "─",
                          .tick = "┬",
                          .band_begin = "├",
                          .band_line = "─",
                          .band_end = "┤",
                          .band_narrow = "│"};
constexpr Glyphs kAscii{.levels = {" ", ".", ":", "#", "", "", "", "", ""},
                        .steps = 3,
                        .full_estimated = "%",
                        .axis = "|",
                        .corner = "+",
                        .base = "-",
                        .tick = "+",
                        .band_begin = "[",
                        .band_line = "-",
                        .band_end = "]",
                        .band_narrow = "|"};

std::string padded_left(std::string_view text, std::size_t width) { return fmt::format("{:>{}}", text, width); }

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// A program chose this text: no control character of it reaches the terminal; with `ascii`, nothing but ASCII does.
std::string printable(std::string text, bool ascii = false) {
  std::replace_if(
      text.begin(), text.end(),
      [ascii](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7F || (byte > 0x7F && ascii);
      },
      '?');
  return text;
}

/// Characters of UTF-8; wide ones are taken for one column.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Draws one figure: what each line needs of it, worked out once.
class TextDrawing {
 public:
  TextDrawing(const Figure& figure, const PlotTextStyle& style)
      : figure_(figure),
        style_(style),
        glyphs_(style.unicode ? kUnicode : kAscii),
        columns_(style.width - kGutter),
        phase_bands_(phase_bands(figure)) {
    for (std::size_t c = 0; c < columns_; ++c) phase_of_column_.push_back(band_at(phase_bands_, c));
  }

  std::string draw() const {
    std::string out = shown(figure_.program) + "\n" + shown(figure_.subject()) + "\n";
    for (const std::string& note : figure_.notes) out += "note: " + shown(note) + "\n";
    out += "\n" + band_line("phases", phase_bands_);
    const auto regions = region_bands(figure_);
    for (std::size_t row = 0; row < std::min(regions.size(), kMostRegionRows); ++row) {
      out += band_line(row == 0 ? "regions" : "", regions[row]);
    }
    if (regions.size() > kMostRegionRows) {
      out += fmt::format("{:>{}}({} levels of regions are not drawn)\n", "", kGutter, regions.size() - kMostRegionRows);
    }
    for (const Metric& metric : figure_.curve.metrics) {
      if (metric.modelled()) out += strip(metric);
    }
    out += places();
    for (const Metric& metric : figure_.curve.metrics) {
      if (!metric.modelled()) out += "not modelled: " + shown(metric.label()) + "\n";
    }
    return out;
  }

 private:
  std::string shown(const std::string& text) const { return printable(text, !style_.unicode); }

  /// Where a column begins; the last one's end is that of the curve.
  std::uint64_t place_of(std::size_t column) const {
    const Curve& curve = figure_.curve;
    return curve.start() + static_cast<std::uint64_t>(static_cast<double>(curve.length()) *
                                                      static_cast<double>(column) / static_cast<double>(columns_));
  }

  static constexpr std::size_t kNoBand = SIZE_MAX;
  /// The band over the middle of a column.
  std::size_t band_at(const std::vector<Band>& bands, std::size_t column) const {
    const std::uint64_t middle = place_of(column) + (place_of(column + 1) - place_of(column)) / 2;
    const auto after = std::upper_bound(bands.begin(), bands.end(), middle,
                                        [](std::uint64_t place, const Band& band) { return place < band.begin; });
    if (after == bands.begin() || (after - 1)->end <= middle) return kNoBand;
    return static_cast<std::size_t>(after - 1 - bands.begin());
  }

  /// Neighbouring phases take turns.
  std::string coloured(const std::string& text, std::size_t phase) const {
    if (!style_.colour || phase == kNoBand || text.find_first_not_of(' ') == std::string::npos) return text;
    return (phase % 2 == 0 ? "\033[36m" : "\033[33m") + text + "\033[0m";
  }

  /// "├── name ──┤", `width` columns wide.
  std::string drawn_band(const std::string& name, std::size_t width) const {
    if (width == 1) return std::string(glyphs_.band_narrow);
    std::string out(glyphs_.band_begin);
    const std::size_t inside = width - 2;
    std::string shown_name = columns_of(name) + 2 <= inside ? " " + name + " " : name;
    if (columns_of(shown_name) > inside) shown_name.clear();
    const std::size_t line = inside - columns_of(shown_name);
    for (std::size_t i = 0; i < line / 2; ++i) out += glyphs_.band_line;
    out += shown_name;
    for (std::size_t i = line / 2; i < line; ++i) out += glyphs_.band_line;
    return out + std::string(glyphs_.band_end);
  }

  /// Bands of the same name side by side are one: at this width their edges cannot be told.
  std::string band_line(std::string_view title, const std::vector<Band>& bands) const {
    std::string out = fmt::format("{:>{}} ", title, kGutter - 1);
    const bool phases = &bands == &phase_bands_;
    for (std::size_t c = 0; c < columns_;) {
      const std::size_t band = band_at(bands, c);
      std::size_t end = c + 1;
      const auto same = [&](std::size_t other) {
        return other == band || (band != kNoBand && other != kNoBand && bands[other].name == bands[band].name);
      };
      while (end < columns_ && same(band_at(bands, end))) ++end;
      if (band == kNoBand) {
        out.append(end - c, ' ');
      } else {
        const std::string drawn = drawn_band(shown(bands[band].name), end - c);
        out += phases ? coloured(drawn, band) : drawn;
      }
      c = end;
    }
    return without_trailing_blanks(out) + "\n";
  }

  /// The rate in each column: counts of the windows it touches, shared by length.
  std::vector<double> column_rates(const Metric& metric) const {
    std::vector<std::vector<double>> sums(columns_, std::vector<double>(metric.counts.size()));
    for (std::size_t i = 0; i < figure_.curve.points.size(); ++i) {
      const profile::CurvePoint& point = figure_.curve.points[i];
      const auto length = static_cast<double>(point.end - point.start);
      const double per_column = static_cast<double>(figure_.curve.length()) / static_cast<double>(columns_);
      const double first = static_cast<double>(point.start - figure_.curve.start()) / per_column;
      const double last = static_cast<double>(point.end - figure_.curve.start()) / per_column;
      for (auto c = static_cast<std::size_t>(first); c < columns_ && static_cast<double>(c) < last; ++c) {
        const double share = (std::min(last, static_cast<double>(c) + 1) - std::max(first, static_cast<double>(c))) *
                             per_column / length;
        for (std::size_t k = 0; k < metric.counts.size(); ++k)
          sums[c][k] += share * static_cast<double>(metric.counts[k][i]);
      }
    }
    std::vector<double> rates;
    rates.reserve(columns_);
    for (const std::vector<double>& of_column : sums) rates.push_back(metric.value(of_column));
    return rates;
  }

  std::string strip(const Metric& metric) const {
    const RateRange range = range_of(metric);
    const double top = round_up(range.largest);
    const std::string about =
        fmt::format("({}; mean {}, {} to {})", name_of(metric.value_class), rate_text(metric.rate(0, metric.points())),
                    rate_text(range.least), rate_text(range.largest));
    const std::string label = shown(metric.label());
    const bool fits = columns_of(label) + 2 + about.size() <= style_.width;
    std::string out = "\n" + label + (fits ? "  " : "\n" + std::string(kGutter, ' ')) + about + "\n";
    const std::vector<double> rates = column_rates(metric);
    for (std::size_t line = 0; line < style_.height; ++line) {
      const std::string scale = line == 0 ? scale_text(top) : line + 1 == style_.height ? "0" : "";
      std::string drawn = padded_left(scale, kGutter - 2) + " " + std::string(glyphs_.axis);
      std::string cells;
      std::size_t phase = phase_of_column_.front();
      for (std::size_t c = 0; c < columns_; ++c) {
        if (phase_of_column_[c] != phase) {
          drawn += coloured(cells, phase);
          cells.clear();
          phase = phase_of_column_[c];
        }
        cells += cell(rates[c] / top, line, metric.value_class);
      }
      drawn += coloured(cells, phase);
      out += without_trailing_blanks(std::move(drawn)) + "\n";
    }
    return out;
  }

  /// height  of the bar, as a part of the strip's
  std::string_view cell(double height, std::size_t line, ValueClass value_class) const {
    const std::size_t below = (style_.height - 1 - line) * glyphs_.steps;
    auto filled = static_cast<std::size_t>(std::lround(height * static_cast<double>(style_.height * glyphs_.steps)));
    if (height > 0) filled = std::max<std::size_t>(filled, 1);  // something is never drawn as nothing
    const std::size_t here = std::min(filled - std::min(filled, below), glyphs_.steps);
    return here == glyphs_.steps && value_class == ValueClass::Estimated ? glyphs_.full_estimated
                                                                         : glyphs_.levels[here];
  }

  std::string places() const {
    const Curve& curve = figure_.curve;
    std::string line = std::string(kGutter - 1, ' ') + std::string(glyphs_.corner);
    std::string labels(kGutter, ' ');
    const auto ticks = place_ticks(curve.start(), curve.end(), columns_ / 12 + 1);
    std::vector<std::size_t> tick_columns;
    for (const std::uint64_t tick : ticks) {
      const auto column =
          static_cast<std::size_t>(static_cast<double>(tick - curve.start()) * static_cast<double>(columns_ - 1) /
                                   static_cast<double>(curve.length()));
      tick_columns.push_back(column);
      const std::string text = place_text(tick, curve.places);
      // Under its tick, or as far left of it as the page's end takes.
      const std::size_t place = std::min(kGutter + column, style_.width - std::min(style_.width, text.size()));
      if (labels.size() > place) continue;
      labels.resize(place, ' ');
      labels += text;
    }
    for (std::size_t c = 0; c < columns_; ++c) {
      const bool tick = std::find(tick_columns.begin(), tick_columns.end(), c) != tick_columns.end();
      line += tick ? glyphs_.tick : glyphs_.base;
    }
    return line + "\n" + labels + "\n" + std::string(kGutter, ' ') + std::string(words_of(curve.places).axis) + "\n";
  }

  const Figure& figure_;
  const PlotTextStyle& style_;
  const Glyphs& glyphs_;
  std::size_t columns_;
  std::vector<Band> phase_bands_;
  std::vector<std::size_t> phase_of_column_;
};

/// A column of the table of phases: one phase, or all points.
struct PhaseColumn {
  std::string title;
  std::size_t first = 0, last = 0;
};

std::size_t windows_before(const Curve& curve, std::size_t point) {
  std::size_t windows = 0;
  for (std::size_t i = 0; i < point; ++i) windows += curve.points[i].windows;
  return windows;
}

/// The modelled metrics, those per so many places last; nullptr: their heading.
std::vector<const Metric*> in_table_order(const Curve& curve) {
  std::vector<const Metric*> order;
  const std::string_view unit = profile::rate_over(curve.places).unit;
  for (const bool per_place : {false, true}) {
    bool headed = !per_place;
    for (const Metric& metric : curve.metrics) {
      if (!metric.modelled() || (metric.unit == unit) != per_place) continue;
      if (!std::exchange(headed, true)) order.push_back(nullptr);
      order.push_back(&metric);
    }
  }
  return order;
}

/// The last line of a page: what has no numbers.
std::string not_modelled(const Curve& curve) {
  std::string out;
  for (const Metric& metric : curve.metrics) {
    if (!metric.modelled()) out += (out.empty() ? "not modelled: " : ", ") + metric.label();
  }
  return out.empty() ? out : printable(out) + "\n";
}

/// What the table says of a column, by row.
std::vector<std::string> phase_cells(const Figure& figure, const PhaseColumn& column) {
  const Curve& curve = figure.curve;
  const std::uint64_t start = curve.points[column.first].start;
  const std::uint64_t end = curve.points[column.last - 1].end;
  const double share = 100 * static_cast<double>(end - start) / static_cast<double>(curve.length());
  std::vector<std::string> cells = {
      column.title,
      fmt::format("{}-{}", windows_before(curve, column.first) + 1, windows_before(curve, column.last)),
      exact_place(start, curve.places),
      exact_place(end - start, curve.places),
      fmt::format("{:.1f} %", share),
  };
  for (const Metric* metric : in_table_order(curve)) {
    cells.push_back(metric == nullptr ? "" : rate_text(metric->rate(column.first, column.last)));
  }
  return cells;
}

std::vector<std::string> phase_labels(const Curve& curve) {
  const PlaceWords& words = words_of(curve.places);
  const std::string_view unit = profile::rate_over(curve.places).unit;
  std::vector<std::string> labels = {"", "windows", std::string(words.first), std::string(words.many), "share"};
  for (const Metric* metric : in_table_order(curve)) {
    const bool per_thousand = metric != nullptr && metric->unit == unit;
    labels.push_back(metric == nullptr ? std::string(unit) : per_thousand ? "  " + metric->name : metric->label());
  }
  return labels;
}

}  // namespace

std::string plot_text(const Figure& figure, const PlotTextStyle& style) {
  CHECK(style.width >= kLeastPlotWidth && style.height != 0, style.width, style.height);
  return TextDrawing(figure, style).draw();
}

std::string phases_text(const Figure& figure, std::size_t width) {
  std::vector<PhaseColumn> columns = {{.title = "whole", .first = 0, .last = figure.curve.points.size()}};
  for (std::size_t i = 0; i < figure.phases.size(); ++i) {
    columns.push_back({fmt::format("phase {}", i + 1), figure.phases[i].first, figure.phases[i].last});
  }
  const std::vector<std::string> labels = phase_labels(figure.curve);
  std::size_t label_width = 0;
  for (const std::string& label : labels) label_width = std::max(label_width, label.size());
  std::vector<std::vector<std::string>> cells;
  std::size_t cell_width = 0;
  for (const PhaseColumn& column : columns) {
    for (const std::string& cell : cells.emplace_back(phase_cells(figure, column))) {
      cell_width = std::max(cell_width, cell.size() + 2);
    }
  }
  const std::size_t room = width > label_width ? (width - label_width) / cell_width : 0;
  const std::size_t at_once = std::max<std::size_t>(room, 1);
  std::string out;
  for (std::size_t from = 0; from < columns.size(); from += at_once) {
    if (from != 0) out += '\n';
    for (std::size_t row = 0; row < labels.size(); ++row) {
      std::string line = fmt::format("{:<{}}", labels[row], label_width);
      for (std::size_t c = from; c < std::min(from + at_once, columns.size()); ++c) {
        line += padded_left(cells[c][row], cell_width);
      }
      out += without_trailing_blanks(line) + "\n";
    }
  }
  return out + not_modelled(figure.curve);
}

std::string rates_csv(const Figure& figure, const Curve& curve) {
  const std::vector<Band> phases = phase_bands(figure);
  std::string out = "first_window,windows,start,end,phase";
  for (const Metric& metric : curve.metrics) out += "," + profile::csv_field(metric.label());
  out += '\n';
  std::size_t phase = 0;
  std::size_t window = 1;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const profile::CurvePoint& point = curve.points[i];
    while (phases[phase].end <= point.start) ++phase;
    out += fmt::format("{},{},{},{},{}", window, point.windows, point.start, point.end, phase + 1);
    for (const Metric& metric : curve.metrics) {
      out += metric.modelled() ? fmt::format(",{:.6g}", metric.rate(i, i + 1)) : ",not modelled";
    }
    out += '\n';
    window += point.windows;
  }
  return out;
}

}  // namespace zs::report
