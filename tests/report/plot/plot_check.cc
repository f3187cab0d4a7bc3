#include "tests/report/plot/plot_check.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "report/plot/plot_files.h"
#include "tests/report/plot/plot_svg.h"
#include "tests/scratch_folder.h"

namespace hybridkv::testing {

namespace {

/// A value of the table by what its file says; not a number where there is none.
double value_in(const Table& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (table.columns()[i].name != column) continue;
    const std::string cell = raw_cell(table.rows()[row][i]);
    return cell.empty() ? std::numeric_limits<double>::quiet_NaN() : std::strtod(cell.c_str(), nullptr);
  }
  throw std::runtime_error("no column " + column);
}

std::vector<Pixel> expected(const DrawnPanel& drawn, const PlotPanel& panel, const PlotSeries& series,
                            const Table& table) {
  std::vector<Pixel> pixels;
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    double sum = 0;
    for (const std::string& column : series.columns) sum += value_in(table, row, column);
    if (std::isnan(sum)) continue;
    pixels.push_back(drawn.pixel_of(value_in(table, row, panel.x_column) / panel.x.divisor, sum / panel.y.divisor,
                                    panel.x.logarithmic, panel.y.logarithmic));
  }
  return pixels;
}

/// Two decimals of a pixel in the file, and as much again for the ticks that the axes are read from.
bool close(double a, double b) { return std::abs(a - b) < 0.08; }

void check_line(const DrawnPanel& drawn, const std::vector<Pixel>& line, const std::vector<Pixel>& wanted) {
  // What lies beyond the axis ends on its edge: the last point inside is followed by one on the frame.
  std::size_t inside = 0;
  while (inside < wanted.size() && wanted[inside].x < drawn.right + 0.08) ++inside;
  const auto at = [](const Pixel& a, const Pixel& b) { return close(a.x, b.x) && close(a.y, b.y); };
  std::size_t next = 0;
  for (std::size_t i = 0; i < inside; ++i) {
    CAPTURE(i);
    // Points that stand where the one before them does are drawn once.
    if (next < line.size() && at(line[next], wanted[i]))
      ++next;
    else
      REQUIRE((next > 0 && at(line[next - 1], wanted[i])));
  }
  CHECK(line.size() - next <= (inside < wanted.size() ? 1u : 0u));
}

/// Of a straight line gnuplot leaves points out; the others stand where they should, and it goes from end to end.
void check_on_line(const std::vector<Pixel>& line, const std::vector<Pixel>& wanted) {
  REQUIRE(line.size() >= 2);
  CHECK(close(line.front().x, wanted.front().x));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i + 1 < line.size(); ++i)  // the last may be where the frame cuts it
    wrong += std::none_of(wanted.begin(), wanted.end(),
                          [&](const Pixel& at) { return close(at.x, line[i].x) && close(at.y, line[i].y); })
                 ? 1
                 : 0;
  CHECK(wrong == 0);
}

void check_bars(const DrawnPanel& drawn, const std::vector<std::vector<Pixel>>& bars, std::vector<Pixel> wanted) {
  std::erase_if(wanted, [&](const Pixel& top) { return std::abs(top.y - drawn.bottom) < 0.01; });  // nothing to draw
  REQUIRE(bars.size() == wanted.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    double left = 1e9, right = 0, top = 1e9, bottom = 0;
    for (const Pixel& corner : bars[i]) {
      left = std::min(left, corner.x);
      right = std::max(right, corner.x);
      top = std::min(top, corner.y);
      bottom = std::max(bottom, corner.y);
    }
    CHECK(close((left + right) / 2, wanted[i].x));
    CHECK(close(top, wanted[i].y));
    CHECK(close(bottom, drawn.bottom));
  }
}

void check_area(const std::vector<std::vector<Pixel>>& areas, const std::vector<Pixel>& wanted) {
  std::size_t found = 0;
  for (const Pixel& point : wanted)
    for (const auto& area : areas)
      if (std::any_of(area.begin(), area.end(),
                      [&](const Pixel& corner) { return close(corner.x, point.x) && close(corner.y, point.y); })) {
        ++found;
        break;
      }
  CHECK(found == wanted.size());
}

void check_series(const DrawnPanel& drawn, const DrawnSeries& series, const PlotPanel& panel, const PlotSeries& wanted,
                  const Table& table) {
  CAPTURE(wanted.title);
  CHECK((series.legend.empty() || series.legend == wanted.title));
  CHECK(series.name == panel.title + ": " + wanted.title);
  const std::vector<Pixel> pixels = expected(drawn, panel, wanted, table);
  switch (wanted.style) {
    case SeriesStyle::points:
    case SeriesStyle::line:
    case SeriesStyle::thin:
    case SeriesStyle::reference:
      check_line(drawn, series.line, pixels);
      break;
    case SeriesStyle::context:
      check_on_line(series.line, pixels);
      break;
    case SeriesStyle::marks:
      check_line(drawn, series.marks, pixels);
      break;
    case SeriesStyle::bar:
      check_bars(drawn, series.polygons, pixels);
      break;
    case SeriesStyle::area:
      check_area(series.polygons, pixels);
      break;
    case SeriesStyle::band: {
      check_area(series.polygons, pixels);
      PlotSeries lower = wanted;
      lower.columns.resize(1);
      check_area(series.polygons, expected(drawn, panel, lower, table));
      break;
    }
  }
}

bool overlap(const DrawnPanel& a, const DrawnPanel& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

void check_axis_text(const DrawnPlot& drawn, const PlotAxis& axis) {
  const std::string label = axis.unit.empty() ? axis.title : axis.title + " (" + axis.unit + ")";
  CAPTURE(label);
  CHECK(drawn.says(label));
}

}  // namespace

bool has_gnuplot() {
  static const bool found = std::system("gnuplot --version > /dev/null 2>&1") == 0;
  if (!found) std::printf("SKIPPED: gnuplot is not installed\n");
  return found;
}

std::string drawn(const Plot& plot, const PictureSpec& picture) {
  const ScratchFolder folder;
  const DrawnPlots made = draw_plots(std::span(&plot, 1), picture, folder.path, {});
  CHECK(made.missing.empty());
  const std::string text = text_of(made.files.back());
  CHECK(text == made.pictures.front());
  return text;
}

void check_drawn(const Plot& plot) {
  CAPTURE(plot.name);
  const DrawnPlot picture = read_plot_svg(drawn(plot));
  CHECK(picture.width == natural_picture_width);
  CHECK(picture.fonts == "Helvetica,Arial,sans-serif");
  CHECK(picture.says(plot.title));
  CHECK(picture.says(plot.subtitle));
  REQUIRE(picture.panels.size() == plot.panels.size());
  CHECK(picture.title == plot.title + ", " + plot.subtitle);
  CHECK(picture.description == plot.caption);
  std::size_t legends = 0;
  const auto& first = plot.panels.front().series;
  const auto in_legend =
      plot.panels.front().across > 1
          ? 0
          : std::count_if(first.begin(), first.end(), [](const PlotSeries& series) { return series.in_legend; });
  for (std::size_t i = 0; i < plot.panels.size(); ++i) {
    const PlotPanel& panel = plot.panels[i];
    const DrawnPanel& shown = picture.panels[i];
    CAPTURE(panel.title);
    CHECK(picture.says(panel.title));
    check_axis_text(picture, panel.x);
    check_axis_text(picture, panel.y);
    CHECK(shown.bottom < picture.height);
    CHECK(shown.right < picture.width);
    for (std::size_t other = 0; other < i; ++other) CHECK_FALSE(overlap(shown, picture.panels[other]));
    REQUIRE(shown.series.size() == panel.series.size());
    for (std::size_t k = 0; k < panel.series.size(); ++k) {
      check_series(shown, shown.series[k], panel, panel.series[k], plot.tables.at(panel.table).table);
      if (!shown.series[k].legend.empty()) {
        CHECK(shown.series[k].legend_at.x > shown.right);
        CHECK(shown.series[k].legend_at.x + 5 * static_cast<double>(panel.series[k].title.size()) < picture.width);
        CHECK(shown.series[k].legend_at.y < picture.height);
      }
      legends += !shown.series[k].legend.empty() && shown.series[k].legend == panel.series[k].title ? 1 : 0;
    }
  }
  CHECK(legends >= static_cast<std::size_t>(in_legend));
}

}  // namespace hybridkv::testing
