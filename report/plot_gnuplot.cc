#include "report/plot_gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "layout/error.h"
#include "report/human.h"
#include "report/text.h"

namespace hybridkv {

namespace {

// Okabe and Ito's palette, which people with any kind of colour blindness can tell apart, without the yellow that
// is too light for a line on white; grey takes its place. Black is left to references.
constexpr std::array<const char*, 7> line_colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                  "#E69F00", "#56B4E9", "#666666"};
constexpr std::array<const char*, 8> fill_colours{"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                  "#56B4E9", "#F0E442", "#D55E00", "#BBBBBB"};
constexpr std::array<int, 8> point_types{7, 5, 9, 11, 13, 6, 4, 8};
constexpr std::array<int, 4> dash_types{1, 2, 4, 5};

// Pixels at the natural width.
constexpr int title_height = 62;
constexpr int panel_title_height = 30;
constexpr int panel_height = 214;
constexpr int x_axis_height = 66;
constexpr int left_margin = 88;
constexpr int legend_gap = 14;

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

/// Where things stand, in shares of the whole picture as gnuplot counts them: upwards from the bottom left.
struct Canvas {
  int width = natural_picture_width;
  int height = 0;
  int right_margin = 0;

  double x(double pixels) const { return pixels / width; }
  double y(double pixels_from_top) const { return 1 - pixels_from_top / height; }
};

std::size_t num_in_legend(const PlotPanel& panel) {
  return static_cast<std::size_t>(std::count_if(panel.series.begin(), panel.series.end(),
                                                [](const PlotSeries& series) { return !series.title.empty(); }));
}

/// Not where the panel above shows the same series, and perhaps more of them.
bool has_own_legend(const Plot& plot, std::size_t panel) {
  if (panel == 0) return true;
  const auto& above = plot.panels[panel - 1].series;
  const auto& series = plot.panels[panel].series;
  return std::any_of(series.begin(), series.end(), [&](const PlotSeries& own) {
    return !own.title.empty() && std::none_of(above.begin(), above.end(), [&](const PlotSeries& other) {
      return own.title == other.title && own.style == other.style && own.look == other.look;
    });
  });
}

/// How a legend stays one column beside its panel: gnuplot would begin a second one, out of the picture.
struct LegendSize {
  double font = 13;
  double spacing = 1.143;
};
LegendSize legend_size(const PlotPanel& panel) {
  const double row = panel_height / (static_cast<double>(num_in_legend(panel)) + 1.2);  // gnuplot keeps a row free
  LegendSize size;
  size.font = std::min(size.font, row / 1.05);
  size.spacing = std::min(size.spacing, row / (1.5 * size.font));
  return size;
}

Canvas canvas_of(const Plot& plot) {
  std::size_t widest = 0;
  for (const PlotPanel& panel : plot.panels)
    for (const PlotSeries& series : panel.series) widest = std::max(widest, display_width(series.title));
  Canvas canvas;
  canvas.height =
      title_height + static_cast<int>(plot.panels.size()) * (panel_title_height + panel_height + x_axis_height);
  // A sample, a gap and about seven pixels a letter of 13.
  canvas.right_margin = 62 + legend_gap + 7 * static_cast<int>(widest);
  return canvas;
}

std::string terminal(const Plot& plot, const PictureSpec& picture, const Canvas& canvas) {
  const double scale = static_cast<double>(picture.width) / canvas.width;
  const int height = static_cast<int>(std::lround(canvas.height * scale));
  switch (picture.format) {
    case PictureFormat::svg:
      return fmt::format(
          "set terminal svg size {},{} fixed noenhanced font \"Helvetica\\,Arial\\,sans-serif,14\" "
          "fontscale {:.4g} linewidth {:.4g} background '#ffffff' name {}\n",
          picture.width, height, scale, scale, literal(identifier(plot.name)));
    case PictureFormat::png:
      return fmt::format(
          "set terminal pngcairo size {},{} noenhanced font 'Arial,10.5' fontscale {:.4g} "
          "linewidth {:.4g} background '#ffffff'\n",
          picture.width, height, scale, scale);
    case PictureFormat::pdf:
      return fmt::format(
          "set terminal pdfcairo size {:.4f}in,{:.4f}in noenhanced font 'Arial,10.5' fontscale {:.4g} "
          "linewidth {:.4g} background '#ffffff'\n",
          picture.width / 96.0, height / 96.0, 0.75 * scale, scale);  // pdfcairo takes its points for pixels
  }
  throw std::logic_error("unknown picture format");
}

/// Font size of the same look in every terminal: svg counts pixels, the others points.
std::string font(const PictureSpec& picture, double pixels) {
  return fmt::format("',{:.4g}'", picture.format == PictureFormat::svg ? pixels : pixels * 0.75);
}

std::string range(const PlotAxis& axis) {
  const auto bound = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "*"; };
  return fmt::format("[{}:{}]", bound(axis.least), bound(axis.most));
}

std::string ticks(const char* name, const PlotAxis& axis) {
  if (axis.ticks.empty()) return fmt::format("set {}tics out nomirror\n", name);
  std::string list;
  for (const std::int64_t tick : axis.ticks)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", literal(human_count(tick)), tick);
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
  if (const auto* real = std::get_if<Real>(&cell)) return real->value;
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

/// The y axis; where all values are the same one, with room around it, because gnuplot complains of an empty range.
PlotAxis y_axis_of(const PlotPanel& panel, const Table& table) {
  PlotAxis axis = panel.y;
  std::vector<double> values;
  for (const PlotSeries& series : panel.series)
    for (const auto& point : points_of(panel, series, table)) values.push_back(point.second);
  if (values.empty()) values.push_back(0);
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  if (axis.most || axis.least.value_or(*lowest) < *highest) return axis;
  axis.most = *highest + 1;
  if (!axis.least) axis.least = *lowest - 1;
  return axis;
}

std::string look_of(const PlotSeries& series, std::size_t points, double scale) {
  const std::size_t look = series.look;
  const char* line = line_colours[look % line_colours.size()];
  const char* fill = fill_colours[look % fill_colours.size()];
  const int dash = dash_types[look / line_colours.size() % dash_types.size()];
  const int point = point_types[look % point_types.size()];
  switch (series.style) {
    case SeriesStyle::points:
      return fmt::format("with linespoints lc rgb '{}' lw 1.8 dt {} pt {} ps {:.4g}", line, dash, point, 0.75 * scale);
    case SeriesStyle::line:
      return fmt::format("with linespoints lc rgb '{}' lw 1.5 dt {} pt {} ps {:.4g} pi {}", line, dash, point,
                         0.7 * scale, std::max<std::size_t>(1, points / 9));
    case SeriesStyle::marks:
      return fmt::format("with points lc rgb '{}' pt {} ps {:.4g}", line, point, 0.75 * scale);
    case SeriesStyle::thin:
      return fmt::format("with lines lc rgb '{}' lw 1.3 dt {}", line, dash_types[look % dash_types.size()]);
    case SeriesStyle::reference:
      return "with lines lc rgb '#000000' lw 1.8 dt 3";
    case SeriesStyle::bar:
      return fmt::format("with boxes lc rgb '{}' fs solid 1 border lc rgb '#333333'", fill);
    case SeriesStyle::area:
      return fmt::format("with filledcurves y1=0 lc rgb '{}'", fill);
  }
  throw std::logic_error("unknown series style");
}

std::string panel_script(const Plot& plot, std::size_t number, const PictureSpec& picture, const Canvas& canvas) {
  const PlotPanel& panel = plot.panels[number];
  const Table& table = plot.tables.at(panel.table).table;
  const double scale = static_cast<double>(picture.width) / canvas.width;
  const int top = title_height + static_cast<int>(number) * (panel_title_height + panel_height + x_axis_height) +
                  panel_title_height;
  const double right = canvas.x(canvas.width - canvas.right_margin);
  std::string script = fmt::format("\n# {}\n", printable(panel.title));
  script += fmt::format("set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n", canvas.x(left_margin), right);
  script += fmt::format("set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n", canvas.y(top),
                        canvas.y(top + panel_height));
  script += fmt::format("set label 3 {} at screen {:.6f},{:.6f} left font {}\n", literal(panel.title),
                        canvas.x(left_margin), canvas.y(top - 14), font(picture, 14));
  script += fmt::format("set label 4 {} at screen {:.6f},{:.6f} center font {}\n", literal(axis_label(panel.x)),
                        (canvas.x(left_margin) + right) / 2, canvas.y(top + panel_height + 46), font(picture, 13));
  script += fmt::format("set label 5 {} at screen {:.6f},{:.6f} center rotate font {}\n", literal(axis_label(panel.y)),
                        canvas.x(22), canvas.y(top + panel_height / 2.0), font(picture, 13));
  script += fmt::format("set xrange {}\nset yrange {}\n", range(panel.x), range(y_axis_of(panel, table)));
  for (const auto& [name, axis] : {std::pair{"x", &panel.x}, std::pair{"y", &panel.y}})
    script += fmt::format("{}set logscale {}{}\n", axis->logarithmic ? "" : "un", name, axis->logarithmic ? " 2" : "");
  script += ticks("x", panel.x) + ticks("y", panel.y);
  if (has_own_legend(plot, number)) {
    const LegendSize legend = legend_size(panel);
    script += fmt::format("set key at screen {:.6f},{:.6f} left top Left reverse samplen 2 spacing {:.4g} font {}\n",
                          right + canvas.x(legend_gap), canvas.y(top - 4), legend.spacing, font(picture, legend.font));
  } else {
    script += "unset key\n";
  }
  script += "plot ";
  for (const PlotSeries& series : panel.series) {
    if (&series != &panel.series.front()) script += ", \\\n     ";
    script += fmt::format("{} using {}:{} title {} {}", literal(data_file_name(plot, panel.table)),
                          expression({panel.x_column}, panel.x.divisor), expression(series.columns, panel.y.divisor),
                          literal(series.title), look_of(series, points_of(panel, series, table).size(), scale));
  }
  return script + "\nunset label\n";
}

}  // namespace

std::string_view to_string(PictureFormat format) {
  switch (format) {
    case PictureFormat::svg:
      return "svg";
    case PictureFormat::png:
      return "png";
    case PictureFormat::pdf:
      return "pdf";
  }
  return "?";
}

std::optional<PictureFormat> parse_picture_format(std::string_view name) {
  for (const PictureFormat format : all_picture_formats)
    if (to_string(format) == name) return format;
  return std::nullopt;
}

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
  const Canvas canvas = canvas_of(plot);
  std::string script =
      fmt::format("# {}\n# Draws it from the data beside it: gnuplot {}.gp\n", printable(plot.title), plot.name);
  for (const std::string& line : wrap(printable(plot.caption), 110)) script += "# " + line + "\n";
  script += "\nset encoding utf8\n" + terminal(plot, picture, canvas);
  script += fmt::format("set output {}\n", literal(fmt::format("{}.{}", plot.name, to_string(picture.format))));
  script += "set datafile separator tab\nset datafile columnheaders\nset datafile missing 'NaN'\n";
  script += "set border 3 lc rgb '#333333' lw 1\nset grid back lt 1 lc rgb '#DDDDDD' lw 0.6\nset boxwidth 0.72\n";
  script += fmt::format("set tics scale 0.5 font {} textcolor rgb '#333333'\n\nset multiplot\n", font(picture, 12));
  script += fmt::format("set label 1 {} at screen {:.6f},{:.6f} left font {}\n", literal(plot.title), canvas.x(16),
                        canvas.y(22), font(picture, 17));
  script += fmt::format("set label 2 {} at screen {:.6f},{:.6f} left font {} textcolor rgb '#555555'\n",
                        literal(plot.subtitle), canvas.x(16), canvas.y(44), font(picture, 13));
  for (std::size_t i = 0; i < plot.panels.size(); ++i) script += panel_script(plot, i, picture, canvas);
  return script + "\nunset multiplot\n";
}

}  // namespace hybridkv
