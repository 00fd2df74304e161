#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "report/plot/drawn_plot.h"
#include "report/text/markup.h"

namespace zs::report {
namespace {

using profile::Curve;
using profile::CurvePoint;
using profile::Metric;
using profile::ValueClass;

// chosen: a picture that a page of text can hold. In SVG's own units.
constexpr double kWidth = 960, kLeft = 76, kRight = 24, kPlot = kWidth - kLeft - kRight;
constexpr double kStrip = 80, kStripGap = 44, kBand = 20, kBandGap = 4, kTop = 64, kNoteLine = 16;
constexpr std::size_t kMostDrawn = 800;  // about one a unit: more could not be told apart
constexpr double kCharacter = 6.6;       // about the width of one in the font used for names of bands

// Okabe and Ito's colours, which people with any colour vision tell apart: blue, orange, and their tints.
constexpr std::string_view kStyle = R"(
  svg { font: 12px system-ui, sans-serif; color-scheme: light dark;
    --page: #ffffff; --ink: #1b1f24; --soft: #57606a; --rule: #d0d7de; --line: #0072b2; --fill: #0072b233;
    --even: #0072b212; --odd: #e69f0022; --region: #d5e8f3; --cursor: #00000014 }
  @media (prefers-color-scheme: dark) { svg {
    --page: #15181c; --ink: #e6edf3; --soft: #9aa4af; --rule: #3a424b; --line: #56b4e9; --fill: #56b4e933;
    --even: #56b4e914; --odd: #e69f0026; --region: #1f4257; --cursor: #ffffff1f } }
  .page { fill: var(--page) } text { fill: var(--ink) } .soft { fill: var(--soft) } .program { font-weight: 600; font-size: 15px }
  .name { font-weight: 600 } .rule { stroke: var(--rule) } .even { fill: var(--even) } .odd { fill: var(--odd) }
  .region { fill: var(--region); stroke: var(--rule) } .curve { fill: var(--fill); stroke: var(--line); stroke-width: 1.3 }
  .estimated { fill: url(#hatch); stroke-dasharray: 4 2 } .hatch { stroke: var(--line); stroke-width: 1 }
  .point { fill: transparent } .point:hover { fill: var(--cursor) }
)";

class Picture {
 public:
  explicit Picture(const Figure& figure)
      : figure_(figure),
        curve_(folded(figure.curve, kMostDrawn)),
        phases_(phase_bands(figure)),
        regions_(region_bands(figure)) {}

  std::string draw() {
    const double bands_top = kTop + kNoteLine * static_cast<double>(figure_.notes.size());
    const double bands = static_cast<double>(1 + regions_.size()) * (kBand + kBandGap);
    const double strips_top = bands_top + bands;
    double y = strips_top;
    std::string strips;
    for (const Metric& metric : curve_.metrics) {
      if (metric.modelled()) strips += strip(metric, y);
    }
    const double bottom = y + 8;
    double height = bottom + 44;
    const std::string missing = not_modelled(height);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:g}\" width=\"{0}\" height=\"{1:g}\" "
        "role=\"img\" "
        "aria-labelledby=\"figure-title figure-text\">\n<title id=\"figure-title\">{2}: {3}</title>\n<desc "
        "id=\"figure-text\">{4}</desc>\n<style>{5}</style>\n"
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0V6\"/></pattern></defs>\n"
        "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
        kWidth, height, markup_text(figure_.program), markup_text(figure_.subject()), markup_text(in_words()), kStyle);
    out += heading();
    out += bands_from(bands_top, bottom);
    return out + strips + axis(bottom) + missing + points(bands_top, bottom) + "</svg>\n";
  }

 private:
  double x_of(std::uint64_t place) const {
    return kLeft + kPlot * static_cast<double>(place - curve_.start()) / static_cast<double>(curve_.length());
  }

  std::string heading() const {
    std::string out = fmt::format(
        "<text class=\"program\" x=\"{0}\" y=\"24\">{1}</text>\n<text class=\"soft\" x=\"{0}\" y=\"42\">{2}</text>\n",
        16, markup_text(figure_.program), markup_text(figure_.subject()));
    double y = 42;
    for (const std::string& note : figure_.notes) {
      y += kNoteLine;
      out += fmt::format("<text class=\"soft\" x=\"16\" y=\"{:g}\">{}</text>\n", y, markup_text(note));
    }
    return out;
  }

  /// A name that does not fit is left to the title under the pointer.
  static std::string band_name(const std::string& name, double x, double width, double y) {
    if (kCharacter * static_cast<double>(name.size()) + 6 > width) return "";
    return fmt::format("<text x=\"{:.1f}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n", x + width / 2, y + 14,
                       markup_text(name));
  }

  std::string bands_from(double top, double bottom) const {
    std::string out = fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">phases</text>\n",
                                  kLeft - 8, top + 14);
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const double x = x_of(phases_[i].begin);
      const double width = x_of(phases_[i].end) - x;
      out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\"/>\n",
                         i % 2 == 0 ? "even" : "odd", x, top, width, bottom - top);
      out += fmt::format("<path class=\"rule\" d=\"M{:.1f} {:g}V{:g}\"/>\n", x, top, bottom);
      out += band_name(phases_[i].name, x, width, top);
    }
    for (std::size_t row = 0; row < regions_.size(); ++row) {
      const double y = top + static_cast<double>(row + 1) * (kBand + kBandGap);
      if (row == 0) {
        out += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">regions</text>\n", kLeft - 8,
                           y + 14);
      }
      for (const Band& band : regions_[row]) {
        const double x = x_of(band.begin);
        const double width = x_of(band.end) - x;
        out +=
            fmt::format("<rect class=\"region\" x=\"{:.1f}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\" rx=\"3\"/>\n",
                        x, y, std::max(width, 0.5), kBand);
        out += band_name(band.name, x, width, y);
      }
    }
    return out;
  }

  std::string strip(const Metric& metric, double& y) const {
    std::string out = fmt::format(
        "<text x=\"{:g}\" y=\"{:g}\"><tspan class=\"name\">{}</tspan> <tspan class=\"soft\">({}; mean "
        "{})</tspan></text>\n",
        kLeft, y + 28, markup_text(metric.label()), name_of(metric.value_class),
        rate_text(metric.rate(0, curve_.points.size())));
    y += kStripGap - 8;
    const double top = round_up(range_of(metric).largest);
    const double base = y + kStrip;
    std::string path = fmt::format("M{:.1f} {:.1f}", x_of(curve_.start()), base);
    for (std::size_t i = 0; i < curve_.points.size(); ++i) {
      path += fmt::format("V{:.1f}H{:.1f}", base - kStrip * metric.rate(i, i + 1) / top, x_of(curve_.points[i].end));
    }
    out += fmt::format("<path class=\"rule\" fill=\"none\" d=\"M{0:g} {1:g}V{2:g}H{3:g}\"/>\n", kLeft, y, base,
                       kLeft + kPlot);
    out += fmt::format(
        "<text class=\"soft\" x=\"{0:g}\" y=\"{1:g}\" text-anchor=\"end\">{2}</text>\n"
        "<text class=\"soft\" x=\"{0:g}\" y=\"{3:g}\" text-anchor=\"end\">0</text>\n",
        kLeft - 8, y + 10, scale_text(top), base);
    out += fmt::format("<path class=\"curve{}\" d=\"{}V{:.1f}Z\"/>\n",
                       metric.value_class == ValueClass::Estimated ? " estimated" : "", path, base);
    y = base + 8;
    return out;
  }

  std::string not_modelled(double& y) const {
    std::string out;
    for (const Metric& metric : curve_.metrics) {
      if (metric.modelled()) continue;
      out += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\">not modelled: {}</text>\n", kLeft, y + 10,
                         markup_text(metric.label()));
      y += kNoteLine;
    }
    return out;
  }

  std::string axis(double y) const {
    std::string out = fmt::format("<path class=\"rule\" d=\"M{:g} {:g}H{:g}\"/>\n", kLeft, y, kLeft + kPlot);
    for (const std::uint64_t tick : place_ticks(curve_.start(), curve_.end(), 10)) {
      const std::string text = place_text(tick, curve_.places);
      // Under its tick, but inside of the picture.
      const double half = kCharacter * static_cast<double>(text.size()) / 2;
      const double x = std::clamp(x_of(tick), half, kWidth - half);
      out += fmt::format(
          "<path class=\"rule\" d=\"M{0:.1f} {1:g}v5\"/><text class=\"soft\" x=\"{4:.1f}\" y=\"{2:g}\" "
          "text-anchor=\"middle\">{3}</text>\n",
          x_of(tick), y, y + 18, text, x);
    }
    return out + fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n",
                             kLeft + kPlot / 2, y + 36, words_of(curve_.places).axis);
  }

  /// What is under the pointer, in words: viewers of SVG show titles without any script.
  std::string points(double top, double bottom) const {
    std::string out;
    std::size_t window = 1;
    for (std::size_t i = 0; i < curve_.points.size(); ++i) {
      const CurvePoint& point = curve_.points[i];
      const std::string which = point.windows == 1 ? fmt::format("window {}", window)
                                                   : fmt::format("windows {}-{}", window, window + point.windows - 1);
      std::string words = fmt::format("{}, {} {} to {}", which, words_of(curve_.places).many,
                                      exact_place(point.start, curve_.places), exact_place(point.end, curve_.places));
      for (const Metric& metric : curve_.metrics) {
        if (metric.modelled())
          words += fmt::format("\n{}: {}", markup_text(metric.label()), rate_text(metric.rate(i, i + 1)));
      }
      out += fmt::format(
          "<rect class=\"point\" x=\"{:.2f}\" y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\"><title>{}</title></rect>\n",
          x_of(point.start), top, x_of(point.end) - x_of(point.start), bottom - top, words);
      window += point.windows;
    }
    return out;
  }

  std::string in_words() const {
    std::string out = fmt::format(
        "{} of {} metrics are modelled. ",
        std::count_if(curve_.metrics.begin(), curve_.metrics.end(), [](const Metric& m) { return m.modelled(); }),
        curve_.metrics.size());
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      out += fmt::format("Phase {}, {} {} to {}:", i + 1, words_of(curve_.places).many,
                         exact_place(phases_[i].begin, curve_.places), exact_place(phases_[i].end, curve_.places));
      for (const Metric& metric : figure_.curve.metrics) {
        if (!metric.modelled()) continue;
        out += fmt::format(" {} {};", rate_text(metric.rate(figure_.phases[i].first, figure_.phases[i].last)),
                           metric.label());
      }
      out.back() = '.';
      out += ' ';
    }
    out.pop_back();
    return out;
  }

  const Figure& figure_;
  Curve curve_;
  std::vector<Band> phases_;
  std::vector<std::vector<Band>> regions_;
};

}  // namespace

std::string plot_svg(const Figure& figure) { return Picture(figure).draw(); }

}  // namespace zs::report
