#include "report/plot/plot_gnuplot.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/report/plot/plot_check.h"
#include "tests/report/plot/plot_svg.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Two series over five places, one with a gap, one without.
Plot small_plot() {
  Table table({{"place"}, {"bytes"}, {"more_bytes"}});
  for (std::int64_t i = 0; i < 5; ++i) {
    const Cell gap = i == 2 ? Cell() : Cell(i * i * 1024);
    table.add_row({i, gap, std::int64_t{2048}});
  }
  Plot plot{.name = "small", .title = "A small plot", .subtitle = "of a test", .caption = "Nothing."};
  plot.tables.push_back({"", std::move(table)});
  plot.panels.push_back({"Panel",
                         0,
                         "place",
                         {.title = "place", .unit = "steps"},
                         {.title = "size", .unit = "KiB", .divisor = 1024, .least = 0},
                         {{"with a gap", {"bytes"}, SeriesStyle::points, 0},
                          {"both", {"bytes", "more_bytes"}, SeriesStyle::line, 1},
                          {"flat", {"more_bytes"}, SeriesStyle::reference, 0}}});
  return plot;
}

}  // namespace

TEST_CASE("law: a line passes over a missing value, sums and units are those of the data") {
  if (!has_gnuplot()) return;
  check_drawn(small_plot());
}

TEST_CASE("fault: a picture that does not show its data is noticed") {
  if (!has_gnuplot()) return;
  const DrawnPlot picture = read_plot_svg(drawn(small_plot()));
  const DrawnPanel& panel = picture.panels.at(0);
  const Pixel right = panel.pixel_of(4, 16);
  const Pixel wrong = panel.pixel_of(4, 15.8);
  const Pixel last = panel.series.at(0).line.back();
  CHECK(std::abs(last.y - right.y) < 0.08);
  CHECK(std::abs(last.y - wrong.y) > 0.08);
}

TEST_CASE("edge: a name with the end of a CDATA section leaves the SVG an XML document") {
  if (!has_gnuplot()) return;
  Plot plot = small_plot();
  plot.title = "a]]>b ]]]>> &lt; \u202e";
  plot.panels[0].series[0].title = "]]>";
  const std::string svg = drawn(plot);
  CHECK(svg.find("]]>") == std::string::npos);
  CHECK(read_plot_svg(svg).says("a]]>b ]]]>> &lt;  "));
}

TEST_CASE("edge: names out of a scenario neither break the script nor run in it") {
  if (!has_gnuplot()) return;
  Plot plot = small_plot();
  plot.title = "it's `touch /tmp/hybridkv-was-here` & <b> \"x\" \\ %d {/Bold y} a_b^c\nset output";
  plot.panels[0].series[0].title = "'; system('false'); '";
  const DrawnPlot picture = read_plot_svg(drawn(plot));
  CHECK(picture.says("it's `touch /tmp/hybridkv-was-here` & <b> \"x\" \\ %d {/Bold y} a_b^c set output"));
  CHECK(picture.says("'; system('false'); '"));
}

TEST_CASE("edge: a panel that names no column of its table is a bug") {
  Plot plot = small_plot();
  plot.panels[0].series[0].columns = {"nothing"};
  CHECK_THROWS_AS(gnuplot_script(plot, {}), std::logic_error);
}

TEST_CASE("law: everything in a picture grows with its width, and equal plots are equal files") {
  if (!has_gnuplot()) return;
  const DrawnPlot natural = read_plot_svg(drawn(small_plot()));
  const DrawnPlot wide = read_plot_svg(drawn(small_plot(), {PictureFormat::svg, 2 * natural_picture_width}));
  CHECK(wide.width == 2 * natural.width);
  CHECK(wide.height == 2 * natural.height);
  CHECK(std::abs(wide.panels[0].right - 2 * natural.panels[0].right) < 0.1);
  for (const PictureFormat format : all_picture_formats) {
    const std::string picture = drawn(small_plot(), {format});
    CHECK(picture.size() > 1000);
    CHECK(picture == drawn(small_plot(), {format}));
  }
  CHECK(drawn(small_plot(), {PictureFormat::png}).starts_with("\x89PNG"));
  CHECK(drawn(small_plot(), {PictureFormat::pdf}).starts_with("%PDF"));
  CHECK(drawn(small_plot(), {PictureFormat::pdf}).find("(D:20000101000000Z") != std::string::npos);
}

TEST_CASE("golden: data files have a header, tabs and NaN for nothing") {
  CHECK(tab_separated(small_plot().tables[0].table) ==
        "place\tbytes\tmore_bytes\n0\t0\t2048\n1\t1024\t2048\n2\tNaN\t2048\n3\t9216\t2048\n4\t16384\t2048\n");
}
