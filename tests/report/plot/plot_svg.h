#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hybridkv::testing {

struct Pixel {
  double x = 0;
  double y = 0;
};

/// A tick of an axis: where it stands and what its label says as a number.
struct DrawnTick {
  double pixel = 0;
  double value = 0;
};

/// One series as it was drawn: corners of its line or area in order, or the four corners of each bar.
struct DrawnSeries {
  std::string name;    ///< what is shown where the mouse rests on it
  std::string legend;  ///< empty where the panel has no legend
  Pixel legend_at;     ///< where its text begins
  std::vector<Pixel> line;
  std::vector<Pixel> marks;  ///< where its points stand
  std::vector<std::vector<Pixel>> polygons;
};

struct DrawnPanel {
  double left = 0, right = 0, top = 0, bottom = 0;  ///< pixels
  std::vector<DrawnTick> x_ticks, y_ticks;
  std::vector<DrawnSeries> series;

  /// Pixels of a value by the first and the last tick of each axis, by factors where that is logarithmic.
  /// Pre: two ticks.
  Pixel pixel_of(double x, double y, bool logarithmic_x = false, bool logarithmic_y = false) const;
};

/// What an SVG of gnuplot shows, read back from its shapes and texts alone.
struct DrawnPlot {
  std::string title, description;  ///< for who does not see it
  double width = 0, height = 0;
  std::vector<DrawnPanel> panels;
  std::vector<std::string> texts;  ///< every text, in the order of the file
  std::string fonts;               ///< the one font stack of all texts
  bool says(const std::string& text) const;
};

/// Throws std::runtime_error for anything that is no well-formed picture of gnuplot.
DrawnPlot read_plot_svg(const std::string& svg);

}  // namespace hybridkv::testing
