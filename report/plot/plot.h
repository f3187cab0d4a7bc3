#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/table.h"

namespace hybridkv {

/// One axis of a panel. Data stay in their own unit; only the picture divides them.
struct PlotAxis {
  std::string title;            ///< what is counted: "length of the request"
  std::string unit;             ///< "tokens", "MiB"; empty: a number without unit
  double divisor = 1;           ///< data are divided by it: 1,048,576 shows bytes as MiB; > 0
  std::optional<double> least;    ///< in the unit of the picture; default: a round number below the values
  std::optional<double> most;     ///< likewise above them
  std::optional<double> floor;    ///< no value can lie below, so the axis never begins there: 0 of a share
  std::optional<double> ceiling;  ///< no value can lie above: 100 of a share in percent
  std::vector<double> ticks;      ///< in the unit of the picture, ascending; default: round numbers
  bool whole = false;             ///< a count: nothing is marked between two whole numbers
  bool logarithmic = false;       ///< equal factors are equal distances; powers of 2 are marked
};

/// How a series is drawn. Every look differs in colour, dash and point, so that colour is never needed to tell two
/// apart.
enum class SeriesStyle {
  points,     ///< a line through points, each of them marked
  line,       ///< a line, marked here and there
  marks,      ///< points without a line
  thin,       ///< a thin line without marks, for many points
  reference,  ///< a black dashed line without marks: a bound or an ideal
  context,    ///< a thin light line behind the one that a facet is about
  bar,        ///< from 0 upwards, around its place on the x axis
  area,       ///< from 0 upwards, filled
  band,       ///< light, from the first column up to the sum of all: between which values another series may lie
};

/// One series of a panel. Bars and areas are stacked by summing columns: the whole first, its parts after it.
struct PlotSeries {
  std::string title;                 ///< in the legend, and where the mouse rests on it
  std::vector<std::string> columns;  ///< of the panel's table, summed; at least one
  SeriesStyle style = SeriesStyle::points;
  std::size_t look = 0;  ///< colour, dash and point; series of one picture that belong together share it
  bool in_legend = true; ///< false where the panel says already what it is
};

/// The numbers behind one or more panels.
struct PlotTable {
  std::string suffix;  ///< of the file's name where a plot has several tables: "memory" -> hit-rate-memory.tsv
  Table table;
};

/// One diagram of a picture. Panels follow each other downwards; facets, of which several stand side by side, fill
/// rows.
struct PlotPanel {
  std::string title;
  std::size_t table = 0;  ///< position in Plot::tables
  std::string x_column;   ///< of that table
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotSeries> series;
  int across = 1;       ///< how many of its kind share a row; above 1 it has no legend, its title says what it shows
  std::string heading;  ///< above the title: what the column of facets below it shows
};

/// A picture as data: panels below each other, the numbers they show, and the words around them. What it looks like in
/// gnuplot is decided in plot_gnuplot.h alone.
/// Invariants: at least one panel, unless `svg` draws it, and one series in each; every column that a panel names is in
/// its table.
struct Plot {
  std::string name;      ///< of its files, without ending: "block-size"
  std::string title;     ///< above the picture
  std::string subtitle;  ///< below the title: model, ranks, memory, mode
  std::string caption;   ///< a sentence or two: what is shown, under which assumptions
  std::optional<std::int64_t> pack;  ///< the plan it shows, where it shows one: its attention_pack_size
  std::vector<PlotTable> tables;
  std::vector<PlotPanel> panels;
  std::function<std::string(int width)> svg;  ///< where gnuplot cannot draw it: the whole SVG, that many pixels wide
};

}  // namespace hybridkv
