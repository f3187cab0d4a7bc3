#include "report/plot/plot_canvas.h"

#include <doctest/doctest.h>

#include "report/plot/plot_gnuplot.h"

using namespace hybridkv;

namespace {

PlotPanel panel(int across, const char* legend = nullptr) {
  PlotPanel panel{"panel", 0, "x", {}, {}, {{legend == nullptr ? "y" : legend, {"y"}}}};
  panel.across = across;
  panel.series.front().in_legend = legend != nullptr;
  return panel;
}

}  // namespace

TEST_CASE("golden: facets share a row, the last of each column and the first of each row have axis titles") {
  Plot plot;
  for (int i = 0; i < 7; ++i) plot.panels.push_back(panel(3));
  const PlotCanvas canvas = plot_canvas(plot);
  REQUIRE(canvas.boxes.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(i);
    const PanelBox& box = canvas.boxes[i];
    CHECK(box.y_title == (i % 3 == 0));
    CHECK(box.x_title == (i >= 4));
    CHECK(box.right - box.left == doctest::Approx(canvas.boxes[0].right - canvas.boxes[0].left));
    CHECK(box.right < natural_picture_width);
    CHECK(box.bottom + 40 < canvas.height);
    CHECK_FALSE(box.legend);
  }
  CHECK(canvas.boxes[0].top == canvas.boxes[2].top);
  CHECK(canvas.boxes[3].top > canvas.boxes[0].bottom);
}

TEST_CASE("edge: lines of a long legend are as high as fit beside the panel, and their letters no higher than a line") {
  PlotPanel crowded = panel(1, "a layout");
  crowded.series.resize(20, crowded.series.front());
  // A panel is 214 high, and gnuplot leaves 1.2 lines free; it makes a line 1.5 * spacing as high as the letters.
  const double line = 214 / 21.2;
  const LegendSize size = legend_size(crowded);
  CHECK(size.font == doctest::Approx(line / 1.05));
  CHECK(1.5 * size.spacing * size.font == doctest::Approx(line));
  // A single line has room for letters as large as they are wanted.
  CHECK(legend_size(panel(1, "a layout")).font == LegendSize{}.font);
  CHECK(legend_size(panel(1, "a layout")).spacing == LegendSize{}.spacing);
}

TEST_CASE("edge: without a legend a panel takes the whole width; a legend is not repeated below") {
  Plot bare;
  bare.panels = {panel(1)};
  Plot plot;
  plot.panels = {panel(1, "a layout"), panel(1, "a layout"), panel(1, "another")};
  const PlotCanvas canvas = plot_canvas(plot);
  CHECK(plot_canvas(bare).boxes[0].right > canvas.boxes[0].right);
  CHECK(canvas.boxes[0].legend);
  CHECK_FALSE(canvas.boxes[1].legend);
  CHECK(canvas.boxes[2].legend);
}
