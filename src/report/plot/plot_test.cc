// Figures and what is drawn of them. Whole terminal plots are golden files of tests/plot; the page runs in a browser
// there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/plot/drawn_plot.h"
#include "report/plot/plot_figure.h"

namespace zs::report {
namespace {

using profile::ValueClass;
using profile::Window;
using profile::WindowTable;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Twenty windows of 1000 instructions: ten with 100 branches each, then ten with 300; thread 8 has one window.
WindowTable two_phases() {
  WindowTable table{.program = "./a <b> & \"c\"",
                    .cpu_model = "skylake-server@1",
                    .events = {{"instructions", ValueClass::Exact},
                               {"branches", ValueClass::Exact},
                               {"cycles", ValueClass::Estimated},
                               {"LLC-load-misses", ValueClass::NotModelled}}};
  for (std::uint64_t i = 0; i < 20; ++i) {
    table.windows.push_back({.number = i + 1,
                             .pid = 7,
                             .tid = 7,
                             .comm = "a",
                             .start = i * 1000,
                             .end = (i + 1) * 1000,
                             .reason = "1000i",
                             .values = {1000, i < 10 ? 100u : 300u, 500, 0}});
  }
  table.windows.push_back(
      {.pid = 7, .tid = 8, .comm = "b", .start = 0, .end = 10, .reason = "end", .values = {10, 1, 9, 0}});
  table.regions = {{"inner", 7, 7, 2000, 3000}, {"outer", 7, 7, 1000, 5000}, {"next", 7, 7, 5000, 90000}};
  return table;
}

constexpr arch::Metric kIpc{
    .name = "IPC", .unit = "instructions per cycle", .formula = "inst_retired.any / cpu_clk_unhalted.thread"};

Result<Figure> figure_of(const WindowTable& table, std::optional<std::int32_t> thread) {
  profile::CurveChoice choice{.own_curve = {false, true, false, true}};
  choice.metrics.emplace_back(arch::default_cpu_model(), kIpc, [&](std::string_view event) {
    return event == "inst_retired.any" ? profile::length_column(table) : std::size_t{2};
  });
  return make_figure(table, thread, choice);
}

Figure figure_of(const WindowTable& table) { return *figure_of(table, std::nullopt); }

TEST(Figure, IsOfTheThreadWithTheMostInstructionsOrTheOneAskedFor) {
  const Figure figure = figure_of(two_phases());
  EXPECT_EQ(figure.subject(), "20 windows of thread 7 (a), 20,000 instructions; skylake-server@1");
  EXPECT_THAT(figure.notes, ElementsAre("one of 2 threads, with the most instructions; --thread TID shows another"));
  EXPECT_EQ(figure_of(two_phases(), 8)->subject(), "1 window of thread 8 (b), 10 instructions; skylake-server@1");
  EXPECT_EQ(figure_of(two_phases(), 9).error().message, "no window is of thread 9");
  EXPECT_EQ(make_figure({}, std::nullopt, {}).error().message, "there is no window with an instruction in it");
}

TEST(Figure, HasABandForEachPhaseAndForEachEntryOfARegionBelowTheOneAroundIt) {
  const Figure figure = figure_of(two_phases());
  const auto phases = phase_bands(figure);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].end, 10000u);
  EXPECT_EQ(phases[1].begin, 10000u);
  const auto regions = region_bands(figure);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0][0].name, "outer");
  EXPECT_EQ(regions[0][1].name, "next");
  EXPECT_EQ(regions[0][1].end, 20000u);  // no further than the curve
  EXPECT_EQ(regions[1][0].name, "inner");
}

TEST(Figure, KeepsTheLongestEntriesOfRegionsWhereThereAreVeryMany) {
  WindowTable table = two_phases();
  table.regions.assign(kMostRegions + 7, {"short", 7, 7, 100, 101});
  table.regions[3] = {"long", 7, 7, 100, 200};
  table.regions.back() = {"last", 7, 7, 19000, 19900};
  const Figure figure = figure_of(table);
  EXPECT_EQ(figure.curve.regions.size(), kMostRegions);
  EXPECT_EQ(figure.curve.regions.front().name, "long");
  EXPECT_EQ(figure.curve.regions.back().name, "last");
  EXPECT_EQ(figure.notes.back(), "of 2,007 entries of regions the longest 2,000 are drawn");
}

TEST(FigureNumbers, AreSpelledWithFourDigitsAndNoExponent) {
  EXPECT_EQ(rate_text(0), "0");
  EXPECT_EQ(rate_text(240.06), "240.1");
  EXPECT_EQ(rate_text(0.012344), "0.01234");
  EXPECT_EQ(rate_text(12.5), "12.50");
  EXPECT_EQ(rate_text(12345.6), "12,346");
}

TEST(FigureNumbers, SayPlacesExactly) {
  EXPECT_EQ(place_text(0), "0");
  EXPECT_EQ(place_text(999), "999");
  EXPECT_EQ(place_text(1500000), "1.5 M");
  EXPECT_EQ(place_text(1000001), "1.000001 M");
  EXPECT_EQ(place_text(2000000000000000), "2000 T");
}

TEST(FigureNumbers, PutTicksARoundNumberApart) {
  EXPECT_THAT(place_ticks(0, 2971873, 4), ElementsAre(0, 1000000, 2000000));
  EXPECT_THAT(place_ticks(120, 180, 7), ElementsAre(120, 130, 140, 150, 160, 170, 180));
  EXPECT_THAT(place_ticks(5, 6, 9), ElementsAre(5, 6));
}

TEST(FigureNumbers, EndScalesAtTheNextRoundNumber) {
  EXPECT_EQ(scale_text(round_up(0)), "1");
  EXPECT_EQ(scale_text(round_up(130)), "150");
  EXPECT_EQ(scale_text(round_up(150)), "150");
  EXPECT_EQ(scale_text(round_up(0.81)), "1");
}

TEST(PlotText, NeverPassesItsWidth) {
  const Figure figure = figure_of(two_phases());
  for (const std::size_t width : {40, 41, 79, 80, 200}) {
    const std::string text = plot_text(figure, {.width = width, .unicode = false});
    bool bars = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      // Titles and notes are sentences; everything that is drawn begins with the gutter.
      if (line.size() > 10 && (line[10] == '|' || line[10] == '+' || line.starts_with("    phases"))) {
        EXPECT_LE(line.size(), width) << line;
        bars = bars || line[10] == '|';
      }
      at = end + 1;
    }
    EXPECT_TRUE(bars);
  }
}

TEST(PlotText, LetsNoControlCharacterThrough) {
  WindowTable table = two_phases();
  table.program = "\033[31mred\n";
  table.windows[19].comm = "\a";
  table.regions[1].name = "\033]0;x";
  const std::string text = plot_text(figure_of(table), {.width = 200});
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\a")));
  EXPECT_THAT(text, HasSubstr("?[31mred?\n"));
}

TEST(PlotText, DrawsSomethingWhereverThereIsSomething) {
  WindowTable table = two_phases();
  table.windows[5].values[1] = 1000000;  // beside which 100 are next to nothing
  const std::string text = plot_text(figure_of(table), {.width = 40, .unicode = false});
  EXPECT_THAT(text, HasSubstr("1,000,000 |\n          |       #:\n"));
  EXPECT_THAT(text, HasSubstr("0 |.......##...................."));
}

TEST(PhasesText, TakesAsManyBlocksAsTheWidthAsks) {
  EXPECT_EQ(phases_text(figure_of(two_phases()), 80),
            "                                whole  phase 1  phase 2\n"
            "windows                          1-20     1-10    11-20\n"
            "first instruction                   0        0   10,000\n"
            "instructions                   20,000   10,000   10,000\n"
            "share                         100.0 %   50.0 %   50.0 %\n"
            "IPC (instructions per cycle)    2.000    2.000    2.000\n"
            "per 1000 instructions\n"
            "  branches                      200.0    100.0    300.0\n"
            "not modelled: LLC-load-misses per 1000 instructions\n");
  const std::string narrow = phases_text(figure_of(two_phases()), 45);
  EXPECT_THAT(narrow, HasSubstr("                                whole\n"));
  EXPECT_THAT(narrow, HasSubstr("\n\n                              phase 2\n"));
}

TEST(RatesCsv, HasALineForEachWindowWithItsPhase) {
  const Figure figure = figure_of(two_phases());
  const std::string csv = rates_csv(figure, figure.curve);
  EXPECT_THAT(
      csv, HasSubstr("first_window,windows,start,end,phase,IPC (instructions per cycle),branches per 1000 instructions,"
                     "LLC-load-misses per 1000 instructions\n"
                     "1,1,0,1000,1,2,100,not modelled\n"));
  EXPECT_THAT(csv, HasSubstr("\n11,1,10000,11000,2,2,300,not modelled\n"));
  const std::string folded_csv = rates_csv(figure, folded(figure.curve, 4));
  EXPECT_THAT(folded_csv, HasSubstr("\n6,5,5000,10000,1,2,100,not modelled\n11,5,10000,15000,2,2,300,not modelled\n"));
}

TEST(PlotSvg, SaysItsNumbersInWordsAndEscapesNames) {
  const std::string svg = plot_svg(figure_of(two_phases()));
  EXPECT_THAT(svg, HasSubstr("<title id=\"figure-title\">./a &lt;b&gt; &amp; &quot;c&quot;: 20 windows of thread 7"));
  EXPECT_THAT(
      svg, HasSubstr("Phase 2, instructions 10,000 to 20,000: 2.000 IPC (instructions per cycle); 300.0 branches per "
                     "1000 instructions."));
  EXPECT_THAT(
      svg, HasSubstr("<title>window 11, instructions 10,000 to 11,000\nIPC (instructions per cycle): 2.000\nbranches"));
  EXPECT_THAT(svg, HasSubstr("not modelled: LLC-load-misses per 1000 instructions"));
  EXPECT_THAT(svg, HasSubstr("class=\"curve estimated\""));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

TEST(PlotHtml, LetsNoNameEndItsScriptOrAskTheNetwork) {
  WindowTable table = two_phases();
  table.program = "</script><script src=\"https://example.org/x.js\"></script>";
  const std::string html = plot_html(figure_of(table));
  EXPECT_THAT(html, Not(HasSubstr("<script src")));
  EXPECT_THAT(html, HasSubstr("\\u003c/script>\\u003cscript src="));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("Permission is hereby granted"));  // uPlot's licence goes where uPlot goes
}

TEST(PlotHtml, TakesWindowsTogetherWhereThereAreVeryMany) {
  WindowTable table = two_phases();
  const Window one = table.windows.front();
  table.windows.clear();
  for (std::uint64_t i = 0; i < 20000; ++i) {
    table.windows.push_back(one);
    table.windows.back().start = i * 1000;
    table.windows.back().end = (i + 1) * 1000;
  }
  EXPECT_THAT(plot_html(figure_of(table)), HasSubstr("<p>each point is 3 windows taken together</p>"));
}

}  // namespace
}  // namespace zs::report
