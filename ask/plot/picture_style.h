#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hybridkv {

/// How somebody wants pictures to look, say for the columns of a paper. What is not said stays as it is.
struct PictureStyle {
  std::string font;                      ///< of a font that gnuplot finds; empty: Helvetica or Arial
  double text = 1;                       ///< size of letters beside the usual one, 0.7 .. 1.4
  std::optional<double> width_mm;        ///< of the picture, 120 .. 2600; unset: as --width has it
  std::vector<std::string> line_colours; ///< "#RRGGBB" of curves, in their order, over and over; empty: plot_colours.h
  std::vector<std::string> fill_colours; ///< of stacked bars and areas
};

/// Reads such a style, YAML: {font: Times, text: 0.9, width_mm: 84, lines: ["#000000", …], fills: […]}. "-" is standard
/// input. Throws InputError with the place of what is wrong.
PictureStyle read_picture_style(const std::string& file);

}  // namespace hybridkv
