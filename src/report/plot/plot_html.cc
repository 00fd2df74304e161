#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/units.h"
#include "report/plot/drawn_plot.h"
#include "report/text/json.h"
#include "report/text/markup.h"

extern "C" {
extern const char zs_plot_page_script[], zs_plot_page_script_end[], zs_plot_page_style[], zs_plot_page_style_end[];
}

namespace zs::report {
namespace {

using profile::Curve;
using profile::Metric;

/// chosen: more points than a wide screen has pixels, so that zooming still shows more; a page stays below some
/// megabytes.
constexpr std::size_t kMostPoints = 8000;

std::string_view script() { return {zs_plot_page_script, zs_plot_page_script_end}; }
std::string_view style() { return {zs_plot_page_style, zs_plot_page_style_end}; }

/// Six digits are more than a screen shows, and keep pages small.
double rounded(double rate) { return std::stod(fmt::format("{:.6g}", rate)); }

Json bands_json(const std::vector<Band>& bands) {
  Json out = Json::array();
  for (const Band& band : bands) out.push_back({{"name", band.name}, {"begin", band.begin}, {"end", band.end}});
  return out;
}

/// What the page's script draws. Places are counts of instructions: below 2^53, so JavaScript's numbers hold them.
Json data_json(const Figure& figure, const Curve& curve) {
  Json out;
  out["program"] = figure.program;
  Json starts = Json::array();
  Json windows = Json::array();
  for (const profile::CurvePoint& point : curve.points) {
    starts.push_back(point.start);
    windows.push_back(point.windows);
  }
  out["starts"] = std::move(starts);
  out["end"] = curve.end();
  out["windows"] = std::move(windows);
  out["metrics"] = Json::array();
  for (const Metric& metric : curve.metrics) {
    Json one = {{"label", metric.label()}, {"class", name_of(metric.value_class)}};
    if (metric.modelled()) {
      Json values = Json::array();
      for (std::size_t i = 0; i < curve.points.size(); ++i) values.push_back(rounded(metric.rate(i, i + 1)));
      one["values"] = std::move(values);
      one["mean"] = rounded(metric.rate(0, curve.points.size()));
    }
    out["metrics"].push_back(std::move(one));
  }
  out["phases"] = bands_json(phase_bands(figure));
  out["regions"] = Json::array();
  for (const std::vector<Band>& row : region_bands(figure)) out["regions"].push_back(bands_json(row));
  out["csv"] = rates_csv(figure, curve);
  return out;
}

std::string phase_table(const Figure& figure) {
  std::string out =
      "<table>\n<caption>Rates are per 1000 instructions.</caption>\n<thead><tr><th scope=\"col\">phase</th><th "
      "scope=\"col\">first instruction</th><th "
      "scope=\"col\">instructions</th>";
  for (const Metric& metric : figure.curve.metrics) {
    out += fmt::format(
        "<th scope=\"col\">{}</th>",
        markup_text(metric.unit == profile::rate_over(profile::Places::Instructions).unit ? metric.name
                                                                                          : metric.label()));
  }
  out += "</tr></thead>\n<tbody>\n";
  const auto row = [&](const std::string& name, std::size_t first, std::size_t last) {
    const std::uint64_t start = figure.curve.points[first].start;
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>", name, with_thousands(start),
                       with_thousands(figure.curve.points[last - 1].end - start));
    for (const Metric& metric : figure.curve.metrics) {
      out += fmt::format("<td>{}</td>", metric.modelled() ? rate_text(metric.rate(first, last)) : "not modelled");
    }
    out += "</tr>\n";
  };
  for (std::size_t i = 0; i < figure.phases.size(); ++i) {
    row(std::to_string(i + 1), figure.phases[i].first, figure.phases[i].last);
  }
  row("whole", 0, figure.curve.points.size());
  return out + "</tbody>\n</table>\n";
}

/// JSON inside a script element: no "</script" and no "<!--" can stand in it.
std::string script_json(const Json& data) {
  std::string text = data.dump(-1);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string plot_html(const Figure& figure) {
  const Curve curve = folded(figure.curve, kMostPoints);
  std::string notes;
  for (const std::string& note : figure.notes) notes += fmt::format("<p>{}</p>\n", markup_text(note));
  if (curve.points.size() != figure.curve.points.size()) {
    notes += fmt::format("<p>each point is {} windows taken together</p>\n", curve.points.front().windows);
  }
  const std::string title = markup_text(figure.program);
  std::string page;
  page += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n";
  page += fmt::format("<title>{}: windows</title>\n<style>\n{}</style>\n</head>\n<body>\n", title, style());
  page += fmt::format("<header>\n<h1>{}</h1>\n<p>{}</p>\n{}</header>\n", title, markup_text(figure.subject()), notes);
  page += "<main>\n<div id=\"figure\"></div>\n<noscript>\n" + plot_svg(figure) + "</noscript>\n";
  page += "<h2>Phases</h2>\n<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the phases\">\n" +
          phase_table(figure) + "</div>\n</main>\n";
  page += "<script type=\"application/json\" id=\"data\">" + script_json(data_json(figure, curve)) + "</script>\n";
  page += fmt::format("<script>\n{}</script>\n</body>\n</html>\n", script());
  return page;
}

}  // namespace zs::report
