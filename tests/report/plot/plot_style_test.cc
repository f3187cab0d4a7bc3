// A look of one's own: what a style says is in the script, and what it does not say stays as it is.
#include "ask/plot/picture_style.h"

#include <doctest/doctest.h>

#include "report/plot/plot_gnuplot.h"

using namespace hybridkv;

namespace {

std::string styled_script(const PictureStyle& style, PictureFormat format) {
  Table table({{"x"}, {"a"}, {"b"}, {"c"}});
  table.add_row({std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}});
  Plot plot{.name = "styled", .title = "Title", .subtitle = "", .caption = ""};
  plot.tables.push_back({"", std::move(table)});
  plot.panels.push_back({"Panel", 0, "x", {.title = "x"}, {.title = "y"},
                         {{"a", {"a"}, SeriesStyle::line, 0},
                          {"b", {"b"}, SeriesStyle::line, 1},
                          {"c", {"c"}, SeriesStyle::bar, 2}}});
  return gnuplot_script(plot, {format, natural_picture_width, style});
}

bool script_has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a style's font, letters and colours are in the script, over and over where there are few") {
  const PictureStyle style{.font = "Times New Roman",
                           .text = 1.2,
                           .width_mm = {},
                           .line_colours = {"#111111"},
                           .fill_colours = {"#222222", "#333333"}};
  for (const PictureFormat format : all_picture_formats) {
    const std::string script = styled_script(style, format);
    CHECK(script_has(script, "Times New Roman"));
    CHECK_FALSE(script_has(script, "Arial"));
    CHECK(script_has(script, "lc rgb '#111111' lw 1.5 dt 1 pt 7"));
    CHECK(script_has(script, "lc rgb '#111111' lw 1.5 dt 1 pt 5"));  // the second curve, told apart by its points
    CHECK(script_has(script, "with boxes lc rgb '#222222'"));
  }
  CHECK(script_has(styled_script(style, PictureFormat::svg), "fontscale 1.2 linewidth 1 "));
  CHECK(script_has(styled_script(style, PictureFormat::pdf), "fontscale 0.9 linewidth 1 "));
  CHECK(script_has(styled_script({}, PictureFormat::png), "font 'Arial,10.5' fontscale 1 linewidth 1 "));
}
