#include "report/plot/plot_gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "report/plot/plot_axis.h"
#include "report/plot/plot_canvas.h"
#include "report/plot/plot_colours.h"
#include "report/text.h"

namespace hybridkv {

namespace {

constexpr std::array<int, 8> point_types{7, 5, 9, 11, 13, 6, 4, 8};
constexpr std::array<int, 4> dash_types{1, 2, 4, 5};
constexpr double legend_gap = 14;
constexpr int most_ticks = 8;  ///< that a panel has room for; a facet has room for half of them

/// A gnuplot string in which nothing is expanded: in single quotes, or where a quote is part of it in double ones with
/// octal escapes (gnuplot takes no doubled quote at the start of a string).
std::string literal(std::string_view text) {
  const std::string plain = printable(text);
  if (plain.find('\'') == std::string::npos) return "'" + plain + "'";
  std::string result = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\' || c == '`')
      result += fmt::format("\\{:03o}", static_cast<int>(c));
    else
      result += c;
  }
  return result + "\"";
}

/// The name as the start of the ids in an SVG: letters, digits and underscores.
std::string identifier(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::string axis_label(const PlotAxis& axis) {
  return axis.unit.empty() ? axis.title : fmt::format("{} ({})", axis.title, axis.unit);
}

/// Pixels of the natural width as gnuplot counts a picture: in shares of it, upwards from the bottom left.
double share_x(const PlotCanvas& canvas, double pixels) { return pixels / canvas.width; }
double share_y(const PlotCanvas& canvas, double pixels_from_top) { return 1 - pixels_from_top / canvas.height; }

std::string terminal(const Plot& plot, const PictureSpec& picture, const PlotCanvas& canvas) {
  const double scale = static_cast<double>(picture.width) / canvas.width;
  const int height = static_cast<int>(std::lround(canvas.height * scale));
  const double text_scale = scale * picture.style.text;
  const std::string& named_font = picture.style.font;
  const std::string cairo_font = named_font.empty() ? "Arial" : named_font;
  switch (picture.format) {
    case PictureFormat::svg:
      return fmt::format(
          "set terminal svg size {},{} fixed noenhanced font \"{},14\" "
          "fontscale {:.4g} linewidth {:.4g} background '#ffffff' name {}\n",
          picture.width, height, named_font.empty() ? "Helvetica\\,Arial\\,sans-serif" : named_font, text_scale, scale,
          literal(identifier(plot.name)));
    case PictureFormat::png:
      return fmt::format(
          "set terminal pngcairo size {},{} noenhanced font '{},10.5' fontscale {:.4g} "
          "linewidth {:.4g} background '#ffffff'\n",
          picture.width, height, cairo_font, text_scale, scale);
    case PictureFormat::pdf:
      return fmt::format(
          "set terminal pdfcairo size {:.4f}in,{:.4f}in noenhanced font '{},10.5' fontscale {:.4g} "
          "linewidth {:.4g} background '#ffffff'\n",
          picture.width / 96.0, height / 96.0, cairo_font, 0.75 * text_scale,  // it takes its points for pixels
          scale);
  }
  throw std::logic_error("unknown picture format");
}

/// Font size of the same look in every terminal: svg counts pixels, the others points.
std::string font(const PictureSpec& picture, double pixels) {
  return fmt::format("',{:.4g}'", picture.format == PictureFormat::svg ? pixels : pixels * 0.75);
}

std::string range(const AxisScale& scale) { return fmt::format("[{}:{}]", scale.least, scale.most); }

std::string ticks(const char* name, const AxisScale& scale) {
  std::string list;
  for (const AxisTick& tick : scale.ticks)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", literal(tick.label), tick.at);
  return fmt::format("set {}tics out nomirror ({})\n", name, list);
}

/// A column, or the sum of some, in the unit of the picture.
std::string expression(const std::vector<std::string>& columns, double divisor) {
  if (columns.size() == 1 && divisor == 1) return literal(columns.front());
  std::string sum;
  for (const std::string& column : columns)
    sum += fmt::format("{}column({})", sum.empty() ? "" : " + ", literal(column));
  if (divisor == 1) return fmt::format("({})", sum);
  return fmt::format("(({})/{})", sum, divisor);
}

std::size_t position_of(const std::string& name, const Table& table) {
  const auto& columns = table.columns();
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; });
  expects(found != columns.end(), "every column that a panel names is in its table");
  return static_cast<std::size_t>(found - columns.begin());
}

/// A cell as the number it is; nothing for an empty one.
std::optional<double> number_of(const Cell& cell) {
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
  if (const auto* real = std::get_if<Real>(&cell))
    return std::isnan(real->value) ? std::nullopt : std::optional(real->value);
  if (const auto* percent = std::get_if<Percent>(&cell))
    return std::isnan(percent->value) ? std::nullopt : std::optional(percent->value);
  expects(std::holds_alternative<std::monostate>(cell), "plotted columns hold numbers");
  return std::nullopt;
}

/// The points of a series that the x axis shows, in the units of the picture.
std::vector<std::pair<double, double>> points_of(const PlotPanel& panel, const PlotSeries& series, const Table& table) {
  expects(!series.columns.empty(), "a series has a column");
  const std::size_t x = position_of(panel.x_column, table);
  std::vector<std::pair<double, double>> points;
  for (const auto& row : table.rows()) {
    std::optional<double> sum = 0.0;
    for (const std::string& column : series.columns) {
      const std::optional<double> part = number_of(row[position_of(column, table)]);
      sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
    }
    const std::optional<double> at = number_of(row[x]);
    if (!sum || !at || (panel.x.most && *at > *panel.x.most * panel.x.divisor)) continue;
    points.emplace_back(*at / panel.x.divisor, *sum / panel.y.divisor);
  }
  return points;
}

/// Of a band what it begins at.
PlotSeries lower_edge(PlotSeries series) {
  series.columns.resize(1);
  return series;
}

/// Scales of a panel's axes, from the points of all its series.
std::pair<AxisScale, AxisScale> scales_of(const PlotPanel& panel, const Table& table, const PanelBox& box) {
  std::vector<double> x, y;
  for (const PlotSeries& series : panel.series)
    for (const auto& [at, value] : points_of(panel, series, table)) {
      x.push_back(at);
      y.push_back(value);
    }
  for (const PlotSeries& series : panel.series)
    if (series.style == SeriesStyle::band)
      for (const auto& [at, value] : points_of(panel, lower_edge(series), table)) y.push_back(value);
  const int room = box.is_facet ? most_ticks / 2 : most_ticks;
  return {axis_scale(panel.x, x, room), axis_scale(panel.y, y, room)};
}

/// Lines and marks of a picture are told apart by their looks; stacks have colours of their own.
std::size_t num_looks(const Plot& plot) {
  std::size_t looks = 0;
  for (const PlotPanel& panel : plot.panels)
    for (const PlotSeries& series : panel.series)
      if (series.style != SeriesStyle::bar && series.style != SeriesStyle::area)
        looks = std::max(looks, series.look + 1);
  return looks;
}

/// The colour of a style's own list, over and over; else that of the program.
template <class Usual>
std::string colour_of(const std::vector<std::string>& own, std::size_t look, Usual usual) {
  return own.empty() ? usual() : own[look % own.size()];
}

std::string look_of(const PlotSeries& series, std::size_t looks, std::size_t points, double scale,
                    const PictureStyle& style) {
  const std::size_t look = series.look;
  const auto line = [&] { return colour_of(style.line_colours, look, [&] { return line_colour(look, looks); }); };
  const auto fill = [&] { return colour_of(style.fill_colours, look, [&] { return fill_colour(look); }); };
  const int dash = dash_types[look / 7 % dash_types.size()];
  const int point = point_types[look % point_types.size()];
  switch (series.style) {
    case SeriesStyle::points:
      return fmt::format("with linespoints lc rgb '{}' lw 1.8 dt {} pt {} ps {:.4g}", line(), dash, point,
                         0.75 * scale);
    case SeriesStyle::line:
      return fmt::format("with linespoints lc rgb '{}' lw 1.5 dt {} pt {} ps {:.4g} pi {}", line(), dash, point,
                         0.7 * scale, std::max<std::size_t>(1, points / 9));
    case SeriesStyle::marks:
      return fmt::format("with points lc rgb '{}' pt {} ps {:.4g}", line(), point, 0.4 * scale);
    case SeriesStyle::thin:
      return fmt::format("with lines lc rgb '{}' lw 1.5 dt {}", line(), dash_types[look % dash_types.size()]);
    case SeriesStyle::reference:
      return "with lines lc rgb '#000000' lw 1.8 dt 3";
    case SeriesStyle::context:
      return "with lines lc rgb '#C8C8C8' lw 0.8 dt 1";
    case SeriesStyle::bar:
      return fmt::format("with boxes lc rgb '{}' fs solid 1 border lc rgb '#333333'", fill());
    case SeriesStyle::area:
      return fmt::format("with filledcurves y1=0 lc rgb '{}'", fill());
    case SeriesStyle::band:
      return fmt::format("with filledcurves lc rgb '{}' fs transparent solid 0.18 noborder", line());
  }
  throw std::logic_error("unknown series style");
}

/// Title, heading and the names of the axes around a panel.
std::string labels_script(const PlotPanel& panel, const PanelBox& box, const PictureSpec& picture,
                          const PlotCanvas& canvas) {
  std::string script;
  const auto label = [&](int number, const std::string& text, double x, double y, const char* how, double size) {
    script += fmt::format("set label {} {} at screen {:.6f},{:.6f} {} font {}\n", number, literal(text),
                          share_x(canvas, x), share_y(canvas, y), how, font(picture, size));
  };
  const double letters = box.is_facet ? 12 : 13;
  label(3, panel.title, box.left, box.title, "left", box.is_facet ? 13 : 14);
  if (box.x_title)
    label(4, axis_label(panel.x), (box.left + box.right) / 2, box.bottom + (box.is_facet ? 40 : 46), "center", letters);
  if (box.y_title) label(5, axis_label(panel.y), 22, (box.top + box.bottom) / 2, "center rotate", letters);
  if (!panel.heading.empty()) label(6, panel.heading, box.left, box.heading, "left", 14);
  return script;
}

std::string panel_script(const Plot& plot, std::size_t number, const PictureSpec& picture, const PlotCanvas& canvas) {
  const PlotPanel& panel = plot.panels[number];
  const PanelBox& box = canvas.boxes[number];
  const Table& table = plot.tables.at(panel.table).table;
  const double scale = static_cast<double>(picture.width) / canvas.width;
  const std::size_t looks = num_looks(plot);
  std::string script = fmt::format("\n# {}\n", printable(panel.title));
  script += fmt::format("set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n", share_x(canvas, box.left),
                        share_x(canvas, box.right));
  script += fmt::format("set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n", share_y(canvas, box.top),
                        share_y(canvas, box.bottom));
  script += labels_script(panel, box, picture, canvas);
  const auto [x, y] = scales_of(panel, table, box);
  script += fmt::format("set xrange {}\nset yrange {}\n", range(x), range(y));
  for (const auto& [name, axis] : {std::pair{"x", &panel.x}, std::pair{"y", &panel.y}})
    script += fmt::format("{}set logscale {}{}\n", axis->logarithmic ? "" : "un", name, axis->logarithmic ? " 2" : "");
  script += ticks("x", x) + ticks("y", y);
  script += fmt::format("set tics scale 0.5 font {} textcolor rgb '#333333'\n", font(picture, box.is_facet ? 11 : 12));
  if (box.legend) {
    const LegendSize legend = legend_size(panel);
    script += fmt::format("set key at screen {:.6f},{:.6f} left top Left reverse samplen 2 spacing {:.4g} font {}\n",
                          share_x(canvas, box.right + legend_gap), share_y(canvas, box.top - 4), legend.spacing,
                          font(picture, legend.font));
  } else {
    script += "unset key\n";
  }
  script += "plot ";
  for (const PlotSeries& series : panel.series) {
    if (&series != &panel.series.front()) script += ", \\\n     ";
    const std::string from =
        series.style == SeriesStyle::band ? expression(lower_edge(series).columns, panel.y.divisor) + ":" : "";
    script += fmt::format("{} using {}:{}{} title {} {}", literal(data_file_name(plot, panel.table)),
                          expression({panel.x_column}, panel.x.divisor), from,
                          expression(series.columns, panel.y.divisor),
                          literal(series.in_legend ? series.title : ""),
                          look_of(series, looks, points_of(panel, series, table).size(), scale, picture.style));
  }
  return script + "\nunset label\n";
}

}  // namespace

std::string data_file_name(const Plot& plot, std::size_t table) {
  if (plot.tables.size() == 1) return plot.name + ".tsv";
  return fmt::format("{}-{}.tsv", plot.name, plot.tables.at(table).suffix);
}

std::string tab_separated(const Table& table) {
  std::string text;
  for (const Column& column : table.columns()) text += (text.empty() ? "" : "\t") + column.name;
  text += "\n";
  for (const auto& row : table.rows()) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = printable(raw_cell(row[i]));
      text += (i == 0 ? "" : "\t") + (cell.empty() ? std::string("NaN") : cell);
    }
    text += "\n";
  }
  return text;
}

std::string gnuplot_script(const Plot& plot, const PictureSpec& picture) {
  expects(!plot.panels.empty() && !plot.tables.empty(), "a plot has panels and numbers");
  const PlotCanvas canvas = plot_canvas(plot);
  std::string script =
      fmt::format("# {}\n# Draws it from the data beside it: gnuplot {}.gp\n", printable(plot.title), plot.name);
  for (const std::string& line : wrap(printable(plot.caption), 110)) script += "# " + line + "\n";
  script += "\nset encoding utf8\n" + terminal(plot, picture, canvas);
  // Who sets to_stdout takes the picture from standard output, as hybridkv does.
  script += fmt::format("if (!exists('to_stdout')) set output {}\n",
                        literal(fmt::format("{}.{}", plot.name, to_string(picture.format))));
  script += "set datafile separator tab\nset datafile columnheaders\nset datafile missing 'NaN'\n";
  script += "set border 3 lc rgb '#333333' lw 1\nset grid back lt 1 lc rgb '#DDDDDD' lw 0.6\nset boxwidth 0.72\n";
  script += "\nset multiplot\n";
  script += fmt::format("set label 1 {} at screen {:.6f},{:.6f} left font {}\n", literal(plot.title),
                        share_x(canvas, 16), share_y(canvas, 22), font(picture, 17));
  script += fmt::format("set label 2 {} at screen {:.6f},{:.6f} left font {} textcolor rgb '#555555'\n",
                        literal(plot.subtitle), share_x(canvas, 16), share_y(canvas, 44), font(picture, 13));
  for (std::size_t i = 0; i < plot.panels.size(); ++i) script += panel_script(plot, i, picture, canvas);
  return script + "\nunset multiplot\n";
}

}  // namespace hybridkv
