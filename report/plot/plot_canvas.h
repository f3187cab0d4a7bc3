#pragma once

#include <vector>

#include "report/plot/plot.h"

namespace hybridkv {

/// Where one panel stands, in pixels at the natural width, from the top left of the picture.
struct PanelBox {
  double left = 0, top = 0, right = 0, bottom = 0;  ///< of the frame around its data
  double title = 0;                                 ///< baseline of its title
  double heading = 0;                               ///< baseline of its heading, where it has one
  bool x_title = true;                              ///< false where the facet below says it
  bool y_title = true;                              ///< false where the facet to the left says it
  bool legend = false;                              ///< at its right, down from its top
  bool is_facet = false;                            ///< small: fewer ticks and smaller letters
};

/// The places of all panels of a picture. Invariant: as many boxes as panels; frames and their labels do not overlap.
struct PlotCanvas {
  int width = 0;
  int height = 0;
  std::vector<PanelBox> boxes;
};

/// A panel of its own has the width that the longest legend leaves; facets share the whole width. A legend stands only
/// where the panel above does not show the same series.
PlotCanvas plot_canvas(const Plot& plot);

/// How a legend of so many lines stays one column beside its panel: gnuplot would begin a second one, out of the
/// picture.
struct LegendSize {
  double font = 13;
  double spacing = 1.143;
};
LegendSize legend_size(const PlotPanel& panel);

}  // namespace hybridkv
