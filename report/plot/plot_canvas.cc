#include "report/plot/plot_canvas.h"

#include <algorithm>

#include "report/plot/plot_gnuplot.h"
#include "report/text.h"

namespace hybridkv {

namespace {

// Pixels at the natural width.
constexpr double title_height = 62;
constexpr double panel_title_height = 30;
constexpr double panel_height = 214;
constexpr double x_axis_height = 66;
constexpr double left_margin = 88;
constexpr double right_margin = 24;  ///< where no legend stands
constexpr double facet_title_height = 28;
constexpr double facet_height = 112;
constexpr double facet_axis_height = 36;  ///< tick labels alone
constexpr double facet_gap = 56;          ///< between the frames of a row, for the tick labels of the right one
constexpr double heading_height = 24;
constexpr double axis_title_height = 26;

std::size_t num_in_legend(const PlotPanel& panel) {
  return static_cast<std::size_t>(std::count_if(panel.series.begin(), panel.series.end(),
                                                [](const PlotSeries& series) { return series.in_legend; }));
}

bool has_own_legend(const Plot& plot, std::size_t panel) {
  if (plot.panels[panel].across > 1 || num_in_legend(plot.panels[panel]) == 0) return false;
  if (panel == 0 || plot.panels[panel - 1].across > 1) return true;
  const auto& above = plot.panels[panel - 1].series;
  const auto& series = plot.panels[panel].series;
  return std::any_of(series.begin(), series.end(), [&](const PlotSeries& own) {
    return own.in_legend && std::none_of(above.begin(), above.end(), [&](const PlotSeries& other) {
             return other.in_legend && own.title == other.title && own.style == other.style && own.look == other.look;
           });
  });
}

/// A sample, a gap and about seven pixels a letter of 13.
double legend_width(const Plot& plot) {
  std::size_t widest = 0;
  for (std::size_t i = 0; i < plot.panels.size(); ++i)
    if (has_own_legend(plot, i))
      for (const PlotSeries& series : plot.panels[i].series)
        if (series.in_legend) widest = std::max(widest, display_width(series.title));
  return widest == 0 ? right_margin : 76 + 7 * static_cast<double>(widest);
}

/// Rows of facets from the first on, as long as they follow each other; returns the y below them.
double place_facets(const Plot& plot, std::size_t first, std::size_t count, double y, PlotCanvas& canvas) {
  const auto across = static_cast<std::size_t>(plot.panels[first].across);
  const double width = (canvas.width - left_margin - right_margin - facet_gap * static_cast<double>(across - 1)) /
                       static_cast<double>(across);
  for (std::size_t row = 0; row < count; row += across) {
    const std::size_t in_row = std::min(across, count - row);
    const bool headed = std::any_of(plot.panels.begin() + static_cast<std::ptrdiff_t>(first + row),
                                    plot.panels.begin() + static_cast<std::ptrdiff_t>(first + row + in_row),
                                    [](const PlotPanel& panel) { return !panel.heading.empty(); });
    const double top = y + (headed ? heading_height : 0) + facet_title_height;
    for (std::size_t column = 0; column < in_row; ++column) {
      const double left = left_margin + static_cast<double>(column) * (width + facet_gap);
      canvas.boxes.push_back({.left = left,
                              .top = top,
                              .right = left + width,
                              .bottom = top + facet_height,
                              .title = top - 9,
                              .heading = top - facet_title_height - 4,
                              .x_title = row + column + across >= count,
                              .y_title = column == 0,
                              .is_facet = true});
    }
    y = top + facet_height + facet_axis_height;
  }
  return y + axis_title_height;
}

}  // namespace

PlotCanvas plot_canvas(const Plot& plot) {
  PlotCanvas canvas{.width = natural_picture_width};
  const double right = canvas.width - legend_width(plot);
  double y = title_height;
  for (std::size_t i = 0; i < plot.panels.size();) {
    std::size_t count = 1;
    if (plot.panels[i].across > 1) {
      while (i + count < plot.panels.size() && plot.panels[i + count].across == plot.panels[i].across) ++count;
      y = place_facets(plot, i, count, y, canvas);
    } else {
      const double top = y + panel_title_height;
      canvas.boxes.push_back({.left = left_margin,
                              .top = top,
                              .right = right,
                              .bottom = top + panel_height,
                              .title = top - 14,
                              .legend = has_own_legend(plot, i)});
      y = top + panel_height + x_axis_height;
    }
    i += count;
  }
  canvas.height = static_cast<int>(y);
  return canvas;
}

LegendSize legend_size(const PlotPanel& panel) {
  const double row = panel_height / (static_cast<double>(num_in_legend(panel)) + 1.2);  // gnuplot keeps a row free
  LegendSize size;
  size.font = std::min(size.font, row / 1.05);
  size.spacing = std::min(size.spacing, row / (1.5 * size.font));
  return size;
}

}  // namespace hybridkv
